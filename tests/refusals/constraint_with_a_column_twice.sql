-- refused: auction stands twice
-- at: 3:67
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, UNIQUE (auction, auction)) TIMESTAMP BY ts;
