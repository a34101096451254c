-- refused: 2.5 is not a whole number of rows
-- hint: write APPROXIMATE WITHIN 100, or APPROXIMATE WITHIN 2 PERCENT
-- at: 5:50
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COUNT(*) AS n FROM bid APPROXIMATE WITHIN 2.5;
