-- refused: there is no type ARRAY<BIGINT>
-- hint: types are BOOLEAN, INT, BIGINT, DECIMAL(p, s), DOUBLE, STRING, BINARY, TIMESTAMP and DATE
-- at: 4:27
CREATE STREAM bid (prices ARRAY<BIGINT>, ts TIMESTAMP) TIMESTAMP BY ts;
