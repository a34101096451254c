-- refused: a database's name is not supported
-- hint: names have one part here
-- at: 5:15
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM prod.bid;
