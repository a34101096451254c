-- refused: this is not an interval
-- hint: write INTERVAL n unit; units are MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS
-- at: 5:48
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid x, bid y WHERE y.ts - x.ts < INTERVAL 5;
