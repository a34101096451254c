-- refused: * stands only in a select list and in COUNT(*)
-- at: 4:14
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT UPPER(*) FROM bid;
