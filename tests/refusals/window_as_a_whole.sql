-- refused: window is two times, the start and the end of a window
-- hint: write window.start, window.end
-- at: 6:41
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT window, COUNT(*) FROM a GROUP BY window(ts, '10 minutes');
