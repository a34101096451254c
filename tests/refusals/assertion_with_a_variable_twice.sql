-- refused: bid stands twice
-- hint: give each row a name: bid x, bid y
-- at: 5:33
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE ASSERTION grows FOR bid, bid WHERE auction = auction THEN price = price;
