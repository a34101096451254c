-- refused: FROM is not expected here
-- at: 4:24
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, price, FROM bid;
