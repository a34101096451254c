-- refused: a stream has one window
-- at: 4:34
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [ROWS 10] AS b [RANGE 1 HOUR];
