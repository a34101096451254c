-- refused: SELECT * with changes is not supported
-- hint: list the columns
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * EXCEPT (price) FROM bid;
