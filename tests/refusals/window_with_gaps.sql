-- refused: these windows leave gaps: 10 MINUTES every 1 HOUR
-- hint: windows that do not overlap are as far apart as they are long
-- at: 6:33
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(*) FROM a GROUP BY window(ts, '10 minutes', '1 hour');
