-- refused: there is no column itemid
-- hint: columns are id, price, ts
-- at: 7:42
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM bid (
  auction BIGINT, ts TIMESTAMP,
  FOREIGN KEY (auction) REFERENCES item (itemid) WITHIN 10 ROWS
) TIMESTAMP BY ts;
