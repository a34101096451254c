-- refused: a table has no timestamp: it is the same at every instant
-- hint: CREATE STREAM makes a stream
-- at: 4:49
CREATE TABLE category (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
