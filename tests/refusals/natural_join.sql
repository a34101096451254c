-- refused: NATURAL JOIN is not supported
-- hint: write JOIN ... USING (columns)
-- at: 6:33
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM item NATURAL JOIN bid;
