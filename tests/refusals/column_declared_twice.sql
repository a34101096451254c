-- refused: the column Price is declared twice
-- at: 3:34
CREATE STREAM bid (price BIGINT, Price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
