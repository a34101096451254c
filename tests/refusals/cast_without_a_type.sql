-- refused: expected a type
-- at: 4:21
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT CAST(price AS) FROM bid;
