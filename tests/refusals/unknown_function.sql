-- refused: there is no function MEDIAN
-- at: 4:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT MEDIAN(price) FROM bid;
