-- refused: expected a type after auction
-- at: 3:27
CREATE STREAM bid (auction, ts TIMESTAMP) TIMESTAMP BY ts;
