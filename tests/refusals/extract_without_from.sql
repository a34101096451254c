-- refused: expected FROM
-- hint: write EXTRACT(HOUR FROM timestamp)
-- at: 5:16
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT EXTRACT(ts) FROM bid;
