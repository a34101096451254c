-- refused: expected a value for the option path
-- hint: write path 'value'
-- at: 4:77
CREATE STREAM bid (ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path);
