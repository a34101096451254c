-- refused: auction is a BIGINT on one side of UNION and a STRING on the other
-- hint: CAST one of them
-- at: 5:31
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction FROM bid UNION SELECT kind FROM bid;
