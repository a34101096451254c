-- refused: there is no column price
-- hint: columns are auction
-- at: 5:46
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
WITH bid AS (SELECT auction FROM bid) SELECT price FROM bid;
