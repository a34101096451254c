-- refused: LIMIT is not supported
-- hint: a window such as [ROWS 10] keeps the latest rows of a stream
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid LIMIT 10;
