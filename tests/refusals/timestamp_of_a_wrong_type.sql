-- refused: ts is STRING, and no timestamp
-- hint: declare it as TIMESTAMP, or as BIGINT if it counts microseconds
-- at: 4:58
CREATE STREAM bid (price BIGINT, ts STRING) TIMESTAMP BY ts;
