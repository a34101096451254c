-- refused: a scalar subquery has one column, not 2
-- at: 5:13
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id, (SELECT MIN(price), MAX(price) FROM bid) AS p FROM item;
