-- refused: the groups of a window are empty when they close: bid has one
-- hint: leave the window out, and group by a time, such as DATE_TRUNC('HOUR', ts)
-- at: 5:77
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, MAX(price) AS most FROM bid [RANGE 1 HOUR] GROUP BY auction EMIT ON CLOSE;
