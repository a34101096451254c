-- refused: a view cannot read itself
-- hint: give the new view another name
-- at: 6:24
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE VIEW dear AS SELECT * FROM bid WHERE price > 100;
CREATE OR REPLACE VIEW dear AS SELECT * FROM dear WHERE price > 1000;
