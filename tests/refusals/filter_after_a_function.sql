-- refused: FILTER stands only after an aggregate
-- at: 4:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT UPPER(kind) FILTER (WHERE price > 10) FROM bid;
