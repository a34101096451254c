-- refused: bid cannot be replaced: dear uses it
-- hint: drop dear first
-- at: 6:26
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY dear AS SELECT * FROM bid WHERE price > 100;
CREATE OR REPLACE STREAM bid (price DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;
