-- refused: an assertion has no k that could grow
-- hint: write WARN, ERROR or IGNORE
-- at: 5:97
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE ASSERTION one FOR bid x, bid y WHERE x.auction = y.auction THEN x.ts = y.ts ON VIOLATION WIDEN;
