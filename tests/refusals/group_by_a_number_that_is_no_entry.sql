-- refused: the select list has no entry 3
-- hint: its entries count from 1 to 2
-- at: 5:44
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, COUNT(*) FROM bid GROUP BY 3;
