-- refused: UNION of 2 columns and 1 column
-- hint: both sides list the same columns, in the same order
-- at: 5:42
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, price FROM bid UNION ALL SELECT auction FROM bid;
