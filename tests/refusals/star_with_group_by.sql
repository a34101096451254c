-- refused: bid.bidder is neither grouped nor aggregated
-- hint: add bid.bidder to GROUP BY, or take an aggregate such as MIN(bid.bidder)
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid GROUP BY auction;
