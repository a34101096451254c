-- refused: LATERAL is not supported
-- at: 4:32
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid LATERAL VIEW EXPLODE(prices) t AS p;
