-- refused: IS takes NULL, TRUE or FALSE
-- hint: compare other values with =
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE price IS 5;
