-- refused: expected )
-- at: 4:29
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT CAST(price AS DOUBLE FROM bid;
