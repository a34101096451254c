-- refused: a window is partitioned by columns, and this is a call
-- hint: a partitioned window is [PARTITION BY a, b ROWS n]: compute the column before the rows arrive
-- at: 5:37
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT price FROM bid [PARTITION BY ABS(auction) ROWS 2];
