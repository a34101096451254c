-- refused: IDLE AFTER takes a time that is more than zero
-- hint: for example IDLE AFTER 30 SECONDS; without it other streams always wait for this one
-- at: 4:91
CREATE STREAM bid (price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 5 SECONDS IDLE AFTER 0 SECONDS;
