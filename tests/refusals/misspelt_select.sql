-- refused: SELCT starts no statement
-- hint: did you mean SELECT?
-- at: 5:1
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELCT * FROM bid;
