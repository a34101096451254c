-- refused: auction is STRING, and item.id is BIGINT
-- hint: declare both with one type
-- at: 7:16
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM bid (
  auction STRING, ts TIMESTAMP,
  FOREIGN KEY (auction) REFERENCES item (id) WITHIN 10 ROWS
) TIMESTAMP BY ts;
