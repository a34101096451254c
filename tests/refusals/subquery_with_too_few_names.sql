-- refused: q has 2 columns, and 1 name for them
-- hint: name all columns or none
-- at: 5:16
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM (SELECT auction, price FROM bid) AS q (a);
