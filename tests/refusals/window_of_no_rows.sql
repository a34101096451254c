-- refused: a window has a whole number of rows, 1 or more, not 0
-- at: 4:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [ROWS 0];
