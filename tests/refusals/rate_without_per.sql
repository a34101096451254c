-- refused: expected PER and a time
-- hint: for example RATE 1000 PER SECOND, or RATE BETWEEN 500 AND 1000 PER SECOND
-- at: 4:60
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, RATE 1000 A SECOND) TIMESTAMP BY ts;
