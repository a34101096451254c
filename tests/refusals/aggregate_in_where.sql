-- refused: WHERE chooses rows before they are grouped, and has no aggregate: SUM
-- hint: conditions on aggregates stand in HAVING
-- at: 5:31
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction FROM bid WHERE SUM(price) > 100 GROUP BY auction;
