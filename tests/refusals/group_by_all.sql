-- refused: GROUP BY ALL is not supported
-- hint: list the columns
-- at: 5:37
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, SUM(price) FROM bid GROUP BY ALL;
