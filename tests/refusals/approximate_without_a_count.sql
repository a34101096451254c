-- refused: APPROXIMATE is of a query that counts rows: it has no COUNT(*)
-- hint: write SELECT ..., COUNT(*) AS n FROM ... GROUP BY ... APPROXIMATE
-- at: 5:63
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, SUM(price) AS total FROM bid GROUP BY auction APPROXIMATE;
