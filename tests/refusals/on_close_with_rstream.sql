-- refused: EMIT ON CLOSE gives rows that only come, and RSTREAM others
-- hint: leave RSTREAM out
-- at: 5:66
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT RSTREAM(auction, COUNT(*) AS n) FROM bid GROUP BY auction EMIT ON CLOSE;
