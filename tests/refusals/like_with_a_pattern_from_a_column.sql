-- refused: LIKE takes a pattern in quotes
-- hint: CONTAINS, STARTSWITH and ENDSWITH take expressions
-- at: 5:34
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid x, bid y WHERE x.kind LIKE y.kind;
