-- refused: ORDERED BY takes one column
-- hint: write one ORDERED BY for each column
-- at: 4:50
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, ORDERED BY (ts, auction) WITHIN 10 ROWS) TIMESTAMP BY ts;
