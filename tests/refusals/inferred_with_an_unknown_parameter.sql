-- refused: INFERRED has no parameter k
-- hint: for example INFERRED (c 1.2, p 0.01, w 1000, threshold 100000), any of them
-- at: 4:79
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, ORDERED BY auction INFERRED (k 5)) TIMESTAMP BY ts;
