-- refused: the branches are of different types: STRING, BIGINT
-- hint: CAST them to one type
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT CASE WHEN price > 100 THEN 'much' ELSE price END AS x FROM bid;
