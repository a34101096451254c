-- refused: SUM does not take STRING
-- hint: CAST it to a number
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT SUM(kind) FROM bid;
