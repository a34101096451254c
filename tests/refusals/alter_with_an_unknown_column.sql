-- refused: there is no column actuion
-- hint: did you mean auction?
-- at: 5:30
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
ALTER STREAM bid ADD UNIQUE (actuion);
