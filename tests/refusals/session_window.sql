-- refused: session windows are not supported
-- hint: window(ts, '10 minutes') is; or compute the session in the DataFrame first
-- at: 6:33
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(*) FROM a GROUP BY session_window(ts, '10 minutes');
