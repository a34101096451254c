-- refused: EMIT ON CLOSE is of a query that ends in GROUP BY
-- hint: it gives each group once, with its last values: SELECT ... GROUP BY ... EMIT ON CLOSE
-- at: 5:23
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT price FROM bid EMIT ON CLOSE;
