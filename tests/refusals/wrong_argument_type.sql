-- refused: UPPER does not take (BIGINT)
-- hint: write UPPER(string)
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT UPPER(price) FROM bid;
