-- refused: IN compares 1 value with a subquery of 2 columns
-- hint: the subquery has a column for each value on the left
-- at: 6:27
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id FROM item WHERE id IN (SELECT auction, price FROM bid);
