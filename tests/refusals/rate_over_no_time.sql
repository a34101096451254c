-- refused: a rate is counted over some time
-- hint: for example RATE 1000 PER SECOND, or RATE BETWEEN 500 AND 1000 PER SECOND
-- at: 4:62
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, RATE 10 PER 0 SECONDS) TIMESTAMP BY ts;
