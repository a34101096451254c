-- refused: SUM takes a column, not *
-- hint: only COUNT takes *
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT SUM(*) FROM bid;
