-- refused: a window cannot slide by 0
-- hint: leave SLIDE out for a window that moves at every instant
-- at: 5:39
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [RANGE 1 HOUR SLIDE 0 SECONDS];
