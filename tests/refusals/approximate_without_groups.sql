-- refused: APPROXIMATE is of a query that ends in GROUP BY
-- hint: write SELECT ..., COUNT(*) AS n FROM ... GROUP BY ... APPROXIMATE
-- at: 5:25
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction FROM bid APPROXIMATE;
