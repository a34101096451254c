-- refused: price is not expected here
-- hint: a column has a name and a type, and may be NOT NULL
-- at: 4:35
CREATE STREAM bid (auction BIGINT price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
