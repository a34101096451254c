-- refused: there is no bid in FROM
-- hint: FROM has b
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT bid.price FROM bid b;
