-- refused: expected ] after the window
-- at: 4:28
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [ROWS 10 WHERE price > 5;
