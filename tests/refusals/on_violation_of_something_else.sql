-- refused: ON VIOLATION cannot STOP
-- hint: write WARN, ERROR or WIDEN
-- at: 4:96
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, ORDERED BY auction WITHIN 2 ROWS ON VIOLATION stop) TIMESTAMP BY ts;
