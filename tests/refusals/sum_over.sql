-- refused: OVER is not supported
-- hint: aggregate over a window of the stream, such as s [RANGE 1 HOUR] or s [PARTITION BY a ROWS 5]
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT SUM(price) OVER (PARTITION BY auction) AS total FROM bid;
