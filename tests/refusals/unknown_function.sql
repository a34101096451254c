-- refused: there is no function MEDIAN
-- hint: collect the rows behind the query, in the DataFrame that it gives
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT MEDIAN(price) FROM bid;
