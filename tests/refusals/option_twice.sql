-- refused: the option PATH is given twice
-- at: 3:91
CREATE STREAM bid (ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'a', PATH 'b');
