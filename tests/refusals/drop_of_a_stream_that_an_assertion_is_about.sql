-- refused: bid cannot be dropped: grows uses it
-- hint: drop grows first
-- at: 6:13
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE ASSERTION grows FOR bid x, bid y WHERE x.auction = y.auction AND x.ts < y.ts THEN x.price < y.price;
DROP STREAM bid;
