-- refused: this is not hexadecimal
-- hint: X'...' holds the hexadecimal digits of bytes, such as X'1F'
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT X'G1' AS x FROM bid;
