-- refused: there is no function MEDIAN
-- hint: a Python function is declared by session.function, or in a file that --functions names
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT MEDIAN(price) FROM bid;
