-- refused: i.id is a column of the query around, and a subquery with GROUP BY, aggregates, UNION or WITH sees only its own FROM
-- hint: join the two, in a WHERE that sees both
-- at: 6:77
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id FROM item i WHERE EXISTS (SELECT auction FROM bid WHERE auction = i.id UNION SELECT bidder FROM bid);
