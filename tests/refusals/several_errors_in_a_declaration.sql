-- refused: there is no type BIGNIT
-- hint: did you mean BIGINT?
-- at: 7:11
-- refused: the column price is declared twice
-- at: 9:3
CREATE STREAM bid (
  auction BIGNIT,
  price BIGINT,
  price DOUBLE,
  ts TIMESTAMP
) TIMESTAMP BY ts;
SELECT * FROM bid;
