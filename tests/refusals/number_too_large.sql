-- refused: no type holds 123456789012345678901234567890123456789
-- hint: a number has at most 38 digits, and a DOUBLE is at most 1.79e308
-- at: 5:33
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE price < 123456789012345678901234567890123456789;
