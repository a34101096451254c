-- refused: expected AFTER
-- at: 3:69
CREATE STREAM bid (price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts IDLE 30 SECONDS;
