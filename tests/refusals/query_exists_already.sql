-- refused: there is a query dear already
-- hint: give it another name
-- at: 6:14
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY dear AS SELECT * FROM bid WHERE price > 100;
CREATE QUERY Dear AS SELECT * FROM bid WHERE price > 1000;
