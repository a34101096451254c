-- refused: DATE_TRUNC takes a unit in quotes first
-- hint: units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER, YEAR
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT DATE_TRUNC(ts, 'HOUR') AS hour FROM bid;
