-- refused: a subquery inside this one tests a column of the query around it
-- hint: join the two instead
-- at: 7:63
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM sale (item BIGINT, amount BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id FROM item i WHERE EXISTS (SELECT * FROM bid b WHERE i.id IN (SELECT s.item FROM sale s));
