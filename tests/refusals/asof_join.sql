-- refused: ASOF JOIN is not supported
-- hint: join the latest row of each key: JOIN b [PARTITION BY key ROWS 1] ON a.key = b.key
-- at: 6:33
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT a.id, y FROM a ASOF JOIN b ON a.id = b.id AND a.ts >= b.ts;
