-- refused: price is ambiguous: b.price, i.price
-- hint: write which one you mean
-- at: 7:82
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM sale (item BIGINT, amount BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id FROM bid b, item i WHERE EXISTS (SELECT * FROM sale s WHERE s.amount > price);
