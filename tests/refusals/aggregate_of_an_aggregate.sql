-- refused: an aggregate has no aggregate inside: SUM
-- hint: take the inner one in a subquery of FROM, and the outer one over that
-- at: 5:12
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT MAX(SUM(price)) FROM bid GROUP BY auction;
