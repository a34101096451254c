-- refused: after WITH comes a query
-- hint: write WITH name AS (SELECT ...), ... SELECT ...
-- at: 5:36
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
WITH q AS (SELECT price FROM bid) q;
