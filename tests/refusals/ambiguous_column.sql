-- refused: price is ambiguous: bid.price, item.price
-- hint: write which one you mean
-- at: 6:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT price FROM bid, item WHERE auction = id;
