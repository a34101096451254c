-- refused: q.price is ambiguous: it has 2 columns of that name
-- hint: rename one with AS
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT q.price FROM (SELECT price, auction AS price FROM bid) AS q;
