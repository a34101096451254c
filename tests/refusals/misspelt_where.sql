-- refused: price is not expected here
-- hint: did you mean WHERE?
-- at: 5:28
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT price FROM bid WHRE price > 10;
