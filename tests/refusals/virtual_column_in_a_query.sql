-- refused: id is virtual: no row has it
-- hint: virtual columns stand only in assertions
-- at: 5:8
CREATE STREAM syn (time TIMESTAMP, VIRTUAL id BIGINT, ip STRING) TIMESTAMP BY time;
SELECT id FROM syn;
