-- refused: EXPLAIN starts no statement
-- hint: leave EXPLAIN out, and run `penstock explain` on the file
-- at: 5:1
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
EXPLAIN SELECT * FROM bid;
