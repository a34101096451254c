-- refused: COUNT takes one argument, not 2
-- hint: count the rows of (SELECT DISTINCT a, b FROM ...) AS q
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(DISTINCT auction, bidder) FROM bid;
