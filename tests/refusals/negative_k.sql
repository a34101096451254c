-- refused: WITHIN takes a whole number of rows, 0 or more, not -3
-- at: 3:79
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, CLUSTERED BY auction WITHIN -3 ROWS) TIMESTAMP BY ts;
