-- refused: ts is STRING, and no timestamp
-- hint: declare it as TIMESTAMP or DATE, or as BIGINT if it counts microseconds or another unit
-- at: 4:58
CREATE STREAM bid (price BIGINT, ts STRING) TIMESTAMP BY ts;
