-- refused: bid cannot be dropped: dear uses it
-- hint: drop dear first
-- at: 6:13
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE VIEW dear AS SELECT * FROM bid WHERE price > 100;
DROP STREAM bid;
