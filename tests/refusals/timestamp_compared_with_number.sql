-- refused: cannot compare TIMESTAMP with INT
-- hint: use UNIX_MICROS(timestamp), or TIMESTAMP_MICROS(number)
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE ts > 1700000000;
