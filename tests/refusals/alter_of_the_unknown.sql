-- refused: there is no stream bit
-- hint: did you mean bid?
-- at: 5:14
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
ALTER STREAM bit ADD UNIQUE (auction);
