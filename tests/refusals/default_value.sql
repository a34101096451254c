-- refused: DEFAULT is not expected here
-- hint: a column has a name and a type
-- at: 4:31
CREATE STREAM item (id BIGINT DEFAULT 0, ts TIMESTAMP) TIMESTAMP BY ts;
