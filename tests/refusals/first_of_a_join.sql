-- refused: FIRST is by the time of one stream in FROM
-- hint: write MIN_BY(value, time)
-- at: 6:8
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT FIRST(x) FROM a, b WHERE a.id = b.id;
