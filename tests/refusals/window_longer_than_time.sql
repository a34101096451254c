-- refused: a time is at most 10,000 years
-- at: 4:26
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [RANGE 100000000000 DAYS];
