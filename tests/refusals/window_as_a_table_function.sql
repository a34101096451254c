-- refused: a function in FROM is not supported
-- hint: read the stream, and group by the window: FROM s GROUP BY TUMBLE(ts, INTERVAL '10' MINUTE)
-- at: 5:55
CREATE STREAM s (a BIGINT, b STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' MINUTES)) GROUP BY window_start
