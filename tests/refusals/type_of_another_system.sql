-- refused: there is no type FLOAT
-- hint: write DOUBLE
-- at: 10:26
-- refused: there is no type SMALLINT
-- hint: write INT
-- at: 10:39
-- refused: there is no type DATETIME
-- hint: write TIMESTAMP
-- at: 10:52
CREATE STREAM bid (price FLOAT, seats SMALLINT, ts DATETIME) TIMESTAMP BY ts;
