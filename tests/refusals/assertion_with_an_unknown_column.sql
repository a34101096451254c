-- refused: there is no column action in x
-- hint: did you mean auction?
-- at: 5:47
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE ASSERTION grows FOR bid x, bid y WHERE x.action = y.auction THEN x.price < y.price;
