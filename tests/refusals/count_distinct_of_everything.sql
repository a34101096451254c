-- refused: DISTINCT takes a column, not *
-- hint: count the rows of (SELECT DISTINCT ...) AS q
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(DISTINCT *) FROM bid;
