-- refused: MIN takes one argument, not 2
-- hint: of several values take LEAST(a, b)
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT MIN(price, bidder) FROM bid;
