-- refused: there is no stream bids
-- hint: did you mean bid?
-- at: 5:35
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE ASSERTION grows FOR bid x, bids y WHERE x.auction = y.auction THEN x.price < y.price;
