-- refused: cannot compare BIGINT with STRING
-- hint: say what is meant: CAST(... AS BIGINT)
-- at: 6:27
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id FROM item WHERE id NOT IN (SELECT kind FROM bid);
