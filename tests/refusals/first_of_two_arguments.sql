-- refused: FIRST does not take 2 arguments
-- hint: write FIRST(value), and without NULLs FILTER (WHERE value IS NOT NULL) behind it
-- at: 5:8
CREATE STREAM s (a BIGINT, b STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT FIRST(b, TRUE) AS f FROM s
