-- refused: DISTINCT ON is not supported
-- hint: write GROUP BY
-- at: 5:21
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT DISTINCT ON (auction) price FROM bid;
