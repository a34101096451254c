-- refused: there is no column id
-- hint: columns are auction, ts
-- at: 9:11
-- refused: there is no column item
-- hint: columns are auction, ts
-- at: 10:16
CREATE STREAM bid (
  auction BIGINT, ts TIMESTAMP,
  UNIQUE (id),
  CLUSTERED BY item WITHIN 5 ROWS
) TIMESTAMP BY ts;
