-- refused: each row is in 86400 windows, and 60 are the most
-- hint: start them less often, or count shorter ones that do not overlap, and add those up
-- at: 6:33
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(*) FROM a GROUP BY window(ts, '1 day', '1 second');
