-- refused: this entry of the select list cannot be grouped by
-- hint: it is an aggregate of the groups
-- at: 5:46
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT SUM(price) AS total FROM bid GROUP BY total;
