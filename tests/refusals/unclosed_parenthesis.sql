-- refused: expected )
-- at: 4:55
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE (price > 10 AND kind = 'close';
