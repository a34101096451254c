-- refused: ALL (SELECT ...) is not supported
-- hint: compare with (SELECT MAX(...) ...), or write NOT EXISTS
-- at: 6:35
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id FROM item WHERE price > ALL (SELECT price FROM bid);
