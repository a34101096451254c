-- refused: of several queries each needs a name
-- hint: write CREATE QUERY name AS SELECT ...
-- at: 6:1
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE price > 100;
SELECT * FROM bid WHERE price > 1000;
