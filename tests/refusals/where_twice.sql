-- refused: WHERE stands twice
-- at: 4:35
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE price > 5 WHERE kind = 'close';
