-- refused: a stream needs the column of its timestamps
-- hint: add TIMESTAMP BY column after the parenthesis
-- at: 4:15
CREATE STREAM bid (price BIGINT, ts TIMESTAMP);
