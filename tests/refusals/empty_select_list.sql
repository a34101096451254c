-- refused: the select list is empty
-- hint: write SELECT * for all columns
-- at: 5:1
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT FROM bid;
