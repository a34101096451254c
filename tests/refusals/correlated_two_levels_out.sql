-- refused: i.id is a column of a query further out
-- hint: a subquery may refer only to the query right around it
-- at: 8:85
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM sale (item BIGINT, amount BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id FROM item i
WHERE EXISTS (SELECT * FROM bid b WHERE EXISTS (SELECT * FROM sale s WHERE s.item = i.id));
