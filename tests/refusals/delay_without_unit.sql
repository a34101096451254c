-- refused: expected a unit of time after 5
-- hint: units are MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS
-- at: 4:71
CREATE STREAM bid (price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 5;
