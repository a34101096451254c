-- refused: there is no function MEDIAN
-- hint: declare a function of your own with session.function or --functions, or compute the column in the DataFrame
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT MEDIAN(price) FROM bid;
