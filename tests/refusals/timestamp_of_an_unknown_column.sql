-- refused: there is no column time
-- hint: columns are price, ts
-- at: 4:61
CREATE STREAM bid (price BIGINT, ts TIMESTAMP) TIMESTAMP BY time;
