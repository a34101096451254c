-- refused: expected ROWS n after PARTITION BY
-- hint: a partitioned window is [PARTITION BY a, b ROWS n]
-- at: 5:40
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [PARTITION BY auction];
