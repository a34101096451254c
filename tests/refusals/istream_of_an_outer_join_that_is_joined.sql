-- refused: with ISTREAM an outer join comes last in FROM
-- hint: put inner joins before outer joins, or their conditions into WHERE
-- at: 6:64
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT ISTREAM(a.id, y) FROM a LEFT JOIN b ON a.id = b.id JOIN b AS b2 ON b2.id = a.id;
