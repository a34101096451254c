-- refused: there are no hexadecimal numbers
-- hint: write it in decimal digits, or X'1F' for bytes
-- at: 5:33
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE price > 0xFF;
