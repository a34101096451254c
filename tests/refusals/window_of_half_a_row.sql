-- refused: a window has a whole number of rows, 1 or more, not 2.5
-- at: 4:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [ROWS 2.5];
