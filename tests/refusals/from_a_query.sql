-- refused: dear is a query, and only views can be read
-- hint: write CREATE VIEW dear AS SELECT ...
-- at: 6:38
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY dear AS SELECT * FROM bid WHERE price > 100;
CREATE QUERY dearer AS SELECT * FROM dear WHERE price > 1000;
