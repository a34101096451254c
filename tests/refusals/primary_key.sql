-- refused: PRIMARY KEY is not expected here
-- hint: write UNIQUE (column) as an element of its own
-- at: 4:31
CREATE STREAM item (id BIGINT PRIMARY KEY, ts TIMESTAMP) TIMESTAMP BY ts;
