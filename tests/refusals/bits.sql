-- refused: bit operations are not supported
-- at: 4:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT price & 1 AS odd FROM bid;
