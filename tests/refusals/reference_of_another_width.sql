-- refused: FOREIGN KEY lists 1 column here and 2 columns of item
-- hint: each column refers to one
-- at: 7:3
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM bid (
  auction BIGINT, ts TIMESTAMP,
  FOREIGN KEY (auction) REFERENCES item (id, price) WITHIN 10 ROWS
) TIMESTAMP BY ts;
