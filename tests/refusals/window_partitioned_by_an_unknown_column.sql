-- refused: there is no column auctoin in bid
-- hint: did you mean auction?
-- at: 5:33
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [PARTITION BY auctoin ROWS 1];
