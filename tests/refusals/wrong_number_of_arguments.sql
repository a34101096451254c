-- refused: SUBSTRING does not take (STRING)
-- hint: write SUBSTRING(string, position [, length])
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT SUBSTRING(kind) FROM bid;
