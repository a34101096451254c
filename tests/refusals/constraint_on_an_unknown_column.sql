-- refused: there is no column auctoin
-- hint: did you mean auction?
-- at: 4:63
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, CLUSTERED BY auctoin WITHIN 10 ROWS) TIMESTAMP BY ts;
