-- refused: there is no type MONEY
-- hint: types are BOOLEAN, INT, BIGINT, DECIMAL(p, s), DOUBLE, STRING, BINARY, TIMESTAMP and DATE
-- at: 4:26
CREATE STREAM bid (price MONEY, ts TIMESTAMP) TIMESTAMP BY ts;
