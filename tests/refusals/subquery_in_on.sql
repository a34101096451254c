-- refused: ON joins rows and has no subquery
-- hint: put the condition into WHERE
-- at: 6:48
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id FROM item i JOIN bid b ON b.price = (SELECT MAX(price) FROM bid);
