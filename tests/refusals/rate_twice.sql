-- refused: RATE stands twice
-- hint: a stream has one rate: BETWEEN gives it two ends
-- at: 5:22
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, RATE 10 PER SECOND) TIMESTAMP BY ts;
ALTER STREAM bid ADD RATE 20 PER SECOND;
