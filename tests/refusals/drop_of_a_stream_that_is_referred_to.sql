-- refused: item cannot be dropped: bid uses it
-- hint: drop bid first
-- at: 9:13
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM bid (
  auction BIGINT, ts TIMESTAMP,
  FOREIGN KEY (auction) REFERENCES item (id) WITHIN 10 ROWS
) TIMESTAMP BY ts;
DROP STREAM item;
