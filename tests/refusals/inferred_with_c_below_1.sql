-- refused: c takes a number from 1 on
-- hint: for example INFERRED (c 1.2, p 0.01, w 1000, threshold 100000), any of them
-- at: 4:81
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, ORDERED BY auction INFERRED (c 0.5)) TIMESTAMP BY ts;
