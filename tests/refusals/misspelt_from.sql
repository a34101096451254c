-- refused: bid is not expected here
-- hint: did you mean FROM?
-- at: 5:19
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT price FORM bid;
