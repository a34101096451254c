-- refused: there are no parameters in a query
-- at: 4:33
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE price > :least;
