-- refused: a number has no thousands separator
-- hint: write 10000, not 10,000
-- at: 5:27
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [ROWS 10,000];
