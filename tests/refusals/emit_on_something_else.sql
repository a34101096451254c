-- refused: expected ON CLOSE after EMIT
-- hint: EMIT ON CLOSE gives each group once, when it closes
-- at: 5:62
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction EMIT ON WINDOW CLOSE;
