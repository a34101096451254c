-- refused: there is no function COALESC
-- hint: did you mean COALESCE?
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COALESC(price, 0) FROM bid;
