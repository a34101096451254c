-- refused: expected a column after GROUP BY
-- at: 4:34
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(*) FROM bid GROUP BY;
