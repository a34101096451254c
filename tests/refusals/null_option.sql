-- refused: NULL is not expected here
-- hint: leave NULL out: a column without NOT NULL may hold NULL
-- at: 4:31
CREATE STREAM item (id BIGINT NULL, ts TIMESTAMP) TIMESTAMP BY ts;
