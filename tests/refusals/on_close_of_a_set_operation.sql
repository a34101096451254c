-- refused: EMIT ON CLOSE groups the rows of streams, of joins and of UNION ALL only
-- hint: below GROUP BY there may be streams, tables, conditions, joins and UNION ALL
-- at: 6:20
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT d.auction, COUNT(*) AS n FROM (SELECT DISTINCT auction, price FROM bid) d
GROUP BY d.auction EMIT ON CLOSE;
