-- refused: expected a column's name
-- at: 3:20
CREATE STREAM bid () TIMESTAMP BY ts;
