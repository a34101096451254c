-- refused: there is no query deer
-- hint: did you mean dear?
-- at: 6:12
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY dear AS SELECT * FROM bid WHERE price > 100;
DROP QUERY deer;
