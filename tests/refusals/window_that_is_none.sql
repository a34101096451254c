-- refused: this is not a window
-- hint: write [RANGE n unit], [RANGE n unit SLIDE m unit], [ROWS n], [PARTITION BY a, b ROWS n], [NOW] or [UNBOUNDED]
-- at: 5:20
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [LAST 10];
