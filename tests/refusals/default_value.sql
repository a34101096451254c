-- refused: DEFAULT is not expected here
-- hint: a column has a name and a type, and may be NOT NULL
-- at: 4:31
CREATE STREAM item (id BIGINT DEFAULT 0, ts TIMESTAMP) TIMESTAMP BY ts;
