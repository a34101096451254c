-- refused: the query has no join of a, b, d
-- hint: name all inputs of one join: a, b, c
-- at: 7:29
CREATE STREAM a (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM c (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q WITH (plan = '((a b) d)') AS
SELECT ISTREAM(a.k) FROM a [ROWS 5], b [ROWS 5], c [ROWS 5] WHERE a.k = b.k AND b.k = c.k;
