-- refused: there is no x in FROM
-- hint: FROM has bid
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT x.* FROM bid;
