-- refused: expected ROWS or a unit of time
-- hint: units are ROWS, MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS
-- at: 4:76
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, ORDERED BY auction WITHIN 10) TIMESTAMP BY ts;
