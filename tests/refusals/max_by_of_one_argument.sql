-- refused: MAX_BY does not take 1 arguments
-- hint: write MAX_BY(value, by)
-- at: 6:8
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT MAX_BY(x) FROM a;
