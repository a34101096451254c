-- refused: with ISTREAM an outer join waits for a time, and the window of a has none
-- hint: give the streams windows [RANGE n unit], or none and a condition on their times
-- at: 6:51
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT ISTREAM(a.id, y) FROM a [ROWS 5] LEFT JOIN b ON a.id = b.id;
