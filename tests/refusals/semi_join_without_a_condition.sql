-- refused: SEMI JOIN needs a condition
-- hint: write LEFT SEMI JOIN ... ON condition
-- at: 6:35
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM item LEFT SEMI JOIN bid;
