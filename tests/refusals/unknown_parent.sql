-- refused: there is no stream item
-- hint: declare it with CREATE STREAM
-- at: 6:36
CREATE STREAM bid (
  auction BIGINT, ts TIMESTAMP,
  FOREIGN KEY (auction) REFERENCES item (id) WITHIN 10 ROWS
) TIMESTAMP BY ts;
