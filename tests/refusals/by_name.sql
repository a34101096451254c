-- refused: BY NAME is not supported
-- hint: list the columns in one order
-- at: 6:1
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT price FROM bid UNION ALL BY NAME SELECT price FROM item;
