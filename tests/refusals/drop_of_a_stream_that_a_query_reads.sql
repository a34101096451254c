-- refused: bid cannot be dropped: dear, cheap use it
-- hint: drop dear, cheap first
-- at: 7:13
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY dear AS SELECT * FROM bid WHERE price > 100;
CREATE QUERY cheap AS SELECT * FROM bid WHERE price < 100;
DROP STREAM bid;
