-- refused: there is no TIMESTAMP + INT
-- hint: write a time as INTERVAL 5 SECONDS, or count with UNIX_MICROS(timestamp)
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT ts + 5 AS later FROM bid;
