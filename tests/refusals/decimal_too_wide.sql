-- refused: DECIMAL(40, 2) is not a type
-- hint: DECIMAL(p, s) has 1 <= p <= 38 and 0 <= s <= p
-- at: 4:26
CREATE STREAM bid (price DECIMAL(40, 2), ts TIMESTAMP) TIMESTAMP BY ts;
