-- refused: bid.price is neither grouped nor aggregated
-- hint: add bid.price to GROUP BY, or take an aggregate such as MIN(bid.price)
-- at: 5:67
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, COUNT(*) AS bids FROM bid GROUP BY auction HAVING price > 10;
