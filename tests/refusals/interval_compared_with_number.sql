-- refused: cannot compare INTERVAL with INT
-- hint: write a time as INTERVAL 5 SECONDS
-- at: 5:34
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid x, bid y WHERE y.ts - x.ts < 5;
