-- refused: id is virtual: no row has it
-- hint: CREATE ASSERTION speaks of virtual columns
-- at: 4:74
CREATE STREAM syn (time TIMESTAMP, VIRTUAL id BIGINT, ip STRING, UNIQUE (id)) TIMESTAMP BY time;
