-- refused: GROUP BY has no subquery
-- hint: take it in a subquery of FROM, and group its result
-- at: 6:49
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(*) AS n FROM bid GROUP BY price - (SELECT MIN(price) FROM item);
