-- refused: bid.price is neither grouped nor aggregated
-- hint: add bid.price to GROUP BY, or take an aggregate such as MIN(bid.price)
-- at: 8:8
-- refused: bid.price is neither grouped nor aggregated
-- hint: add bid.price to GROUP BY, or take an aggregate such as MIN(bid.price)
-- at: 8:30
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT price FROM bid HAVING price > 10;
