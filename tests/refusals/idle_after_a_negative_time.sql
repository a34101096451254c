-- refused: IDLE AFTER takes a time that is not negative
-- at: 3:76
CREATE STREAM bid (price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts IDLE AFTER -30 SECONDS;
