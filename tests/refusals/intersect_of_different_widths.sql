-- refused: INTERSECT of 1 column and 2 columns
-- hint: both sides list the same columns, in the same order
-- at: 5:35
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction FROM bid INTERSECT SELECT auction, bidder FROM bid;
