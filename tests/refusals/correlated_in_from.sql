-- refused: i.id is a column of the query around, and a subquery in FROM sees only its own FROM
-- hint: join the two, in a WHERE that sees both
-- at: 6:69
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT i.id FROM item i, (SELECT price FROM bid b WHERE b.auction = i.id) AS q;
