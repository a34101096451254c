-- refused: RIGHT SEMI JOIN is not supported
-- hint: exchange the two sides and write LEFT SEMI JOIN
-- at: 6:35
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid RIGHT SEMI JOIN item ON auction = id;
