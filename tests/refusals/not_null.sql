-- refused: NOT is not expected here
-- hint: leave NOT NULL out: every column may hold NULL
-- at: 4:31
CREATE STREAM item (id BIGINT NOT NULL, ts TIMESTAMP) TIMESTAMP BY ts;
