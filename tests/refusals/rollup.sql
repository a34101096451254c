-- refused: ROLLUP is not supported
-- hint: write one query per grouping and UNION ALL them
-- at: 5:62
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, bidder, SUM(price) FROM bid GROUP BY ROLLUP (auction, bidder);
