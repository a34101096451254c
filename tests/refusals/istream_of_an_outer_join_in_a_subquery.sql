-- refused: with ISTREAM an outer join is all that a query reads, and is neither grouped nor in a subquery
-- hint: leave ISTREAM or EMIT ON CLOSE out, to have its changes; or read just the outer join
-- at: 6:57
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT ISTREAM(q.id) FROM (SELECT a.id FROM a LEFT JOIN b ON a.id = b.id) AS q;
