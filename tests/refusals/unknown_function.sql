-- refused: there is no function MEDIAN
-- hint: compute the column in the DataFrame first, or call a function of your own
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT MEDIAN(price) FROM bid;
