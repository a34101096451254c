-- refused: a subquery in FROM needs a name
-- hint: write (SELECT ...) AS name
-- at: 5:16
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM (SELECT * FROM bid);
