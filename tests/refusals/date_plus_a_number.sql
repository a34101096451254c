-- refused: there is no DATE + INT
-- hint: write a time as INTERVAL 1 DAY
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT DATE(ts) + 1 AS tomorrow FROM bid;
