-- refused: a query of WITH needs a name
-- hint: write WITH name AS (SELECT ...), ... SELECT ...
-- at: 5:6
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
WITH (SELECT price FROM bid) SELECT * FROM bid;
