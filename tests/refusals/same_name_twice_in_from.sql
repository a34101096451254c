-- refused: bid stands twice in FROM
-- hint: give one of them another name: bid AS bid_2
-- at: 5:20
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid, bid;
