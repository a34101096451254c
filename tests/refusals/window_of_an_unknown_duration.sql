-- refused: WINDOW takes durations such as '10 minutes'
-- hint: units are MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS
-- at: 6:44
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(*) FROM a GROUP BY window(ts, 'ten minutes');
