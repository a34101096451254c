-- refused: ORDERED BY needs WITHIN or INFERRED
-- hint: write WITHIN n ROWS, WITHIN t SECONDS, or INFERRED to have that found while the query runs
-- at: 4:68
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, ORDERED BY auction) TIMESTAMP BY ts;
