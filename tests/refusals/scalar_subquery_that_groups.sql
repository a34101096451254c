-- refused: this subquery may have more rows than one, or none
-- hint: aggregate it without GROUP BY, as in (SELECT MAX(x) FROM ...), or join it
-- at: 6:13
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id, (SELECT MAX(price) FROM bid GROUP BY auction) AS p FROM item;
