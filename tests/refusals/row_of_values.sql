-- refused: a row of values is not supported here
-- hint: compare the columns one by one
-- at: 5:26
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE (auction, price) = (1, 2);
