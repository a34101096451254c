-- refused: arrays, maps and structs are not supported
-- hint: declare a function of your own with session.function or --functions, or compute the column in the DataFrame
-- at: 5:8
CREATE STREAM s (a BIGINT, b STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT split(b, '/')[1] AS p FROM s
