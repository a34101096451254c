-- refused: ORDER BY is not supported
-- hint: a relation has no order; sort the output where it is read
-- at: 5:38
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [ROWS 10] ORDER BY price;
