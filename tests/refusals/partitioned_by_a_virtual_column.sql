-- refused: there is no column id in syn
-- hint: columns are time, ip
-- at: 5:34
CREATE STREAM syn (time TIMESTAMP, VIRTUAL id BIGINT, ip STRING) TIMESTAMP BY time;
SELECT ip FROM syn [PARTITION BY id ROWS 1];
