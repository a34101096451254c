-- refused: EMIT ON CLOSE groups the rows of streams and of joins only
-- hint: below GROUP BY there may be streams, tables, conditions and joins
-- at: 6:20
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT d.auction, COUNT(*) AS n FROM (SELECT DISTINCT auction, price FROM bid) d
GROUP BY d.auction EMIT ON CLOSE;
