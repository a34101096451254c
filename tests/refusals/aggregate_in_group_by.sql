-- refused: GROUP BY has no aggregate: MAX
-- hint: aggregate in a subquery of FROM, and group its result
-- at: 5:35
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(*) FROM bid GROUP BY MAX(price);
