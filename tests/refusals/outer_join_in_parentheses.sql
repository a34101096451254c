-- refused: a join in parentheses is not supported
-- hint: leave the parentheses out if it is an inner join; else write (SELECT ... FROM a LEFT JOIN b ...) AS q
-- at: 6:42
CREATE STREAM s (a BIGINT, b STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM t (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT s.a FROM s LEFT JOIN (t LEFT JOIN s AS u ON t.a = u.a) ON s.a = t.a
