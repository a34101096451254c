-- refused: GROUP BY has one window that overlaps others
-- hint: group by one of them in a subquery of FROM, and by the other around it
-- at: 6:86
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(*) FROM a GROUP BY HOP(ts, INTERVAL 1 MINUTE, INTERVAL 2 MINUTES) AS v, window(ts, '4 minutes', '1 minute') AS w;
