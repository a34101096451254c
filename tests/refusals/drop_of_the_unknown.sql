-- refused: there is no stream bidd
-- hint: did you mean bid?
-- at: 5:13
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
DROP STREAM bidd;
