-- refused: beside CREATE QUERY this query needs a name too
-- hint: write CREATE QUERY name AS SELECT ...
-- at: 5:1
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE price > 100;
CREATE QUERY dear AS SELECT * FROM bid WHERE price > 1000;
