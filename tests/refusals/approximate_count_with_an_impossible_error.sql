-- refused: the error of APPROX_COUNT_DISTINCT is a number between 0 and 1
-- hint: for example 0.05: the standard deviation of the relative error
-- at: 6:8
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT APPROX_COUNT_DISTINCT(x, 2) FROM a;
