-- refused: the parameter w is given twice
-- at: 3:87
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, ORDERED BY auction INFERRED (w 5, w 6)) TIMESTAMP BY ts;
