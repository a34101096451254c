-- refused: an interval is a whole number of microseconds, 10,000 years at most
-- at: 4:48
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid x, bid y WHERE y.ts - x.ts < INTERVAL '+-5' SECONDS;
