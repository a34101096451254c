-- refused: there is no column seller in b
-- hint: columns are auction, bidder, price, kind, ts
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT b.seller FROM bid b;
