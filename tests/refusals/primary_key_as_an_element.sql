-- refused: PRIMARY KEY is not a constraint here
-- hint: write UNIQUE (column)
-- at: 4:46
CREATE STREAM item (id BIGINT, ts TIMESTAMP, PRIMARY KEY (id)) TIMESTAMP BY ts;
