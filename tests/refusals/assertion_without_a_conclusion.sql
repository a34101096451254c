-- refused: expected THEN
-- hint: an assertion is FOR stream variable, ... WHERE premise THEN conclusion
-- at: 5:68
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE ASSERTION grows FOR bid x, bid y WHERE x.auction = y.auction;
