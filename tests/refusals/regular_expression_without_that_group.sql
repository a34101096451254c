-- refused: REGEXP_EXTRACT takes the number of a group
-- hint: this pattern has 0 groups in parentheses, and 0 is all of it
-- at: 6:8
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT REGEXP_EXTRACT(s, 'a+', 1) FROM a;
