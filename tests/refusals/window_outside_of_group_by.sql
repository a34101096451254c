-- refused: WINDOW stands in GROUP BY
-- hint: write GROUP BY window(ts, '10 minutes'), and window.start and window.end in the select list
-- at: 6:8
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT window(ts, '10 minutes') FROM a;
