-- refused: a regular expression stands in quotes
-- hint: write RLIKE(text, 'a+b')
-- at: 6:23
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT s FROM a WHERE s RLIKE s;
