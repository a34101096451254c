-- refused: at least 20 rows are more than at most 10
-- hint: for example RATE 1000 PER SECOND, or RATE BETWEEN 500 AND 1000 PER SECOND
-- at: 4:70
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, RATE BETWEEN 20 AND 10 PER SECOND) TIMESTAMP BY ts;
