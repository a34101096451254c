-- refused: expected END after CASE
-- at: 4:34
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT CASE WHEN price > 10 THEN 'much' AS how FROM bid;
