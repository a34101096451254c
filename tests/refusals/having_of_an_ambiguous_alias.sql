-- refused: p is ambiguous: it stands twice in the select list
-- at: 4:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT MIN(price) AS p, MAX(price) AS p FROM bid HAVING p > 5;
