-- refused: this is not a constraint
-- hint: constraints are UNIQUE, PRIMARY KEY, NOT NULL, FOREIGN KEY ... REFERENCES, CLUSTERED BY, ORDERED BY, PUNCTUATED BY and RATE
-- at: 5:22
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
ALTER STREAM bid ADD COLUMN note STRING;
