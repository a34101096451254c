-- refused: a TIMESTAMP cannot be cast to BIGINT
-- hint: use UNIX_MICROS(timestamp), or TIMESTAMP_MICROS(number)
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT CAST(ts AS BIGINT) AS t FROM bid;
