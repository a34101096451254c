-- refused: with ISTREAM an outer join is not joined further, by subqueries either
-- hint: leave ISTREAM or EMIT ON CLOSE out, to have its changes
-- at: 6:1
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT ISTREAM(a.id, y) FROM a LEFT JOIN b ON a.id = b.id WHERE EXISTS (SELECT * FROM b AS c WHERE c.id = a.id);
