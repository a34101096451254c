-- refused: expected a unit of time after 1
-- hint: units are MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS
-- at: 5:28
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [RANGE 1 MONTH];
