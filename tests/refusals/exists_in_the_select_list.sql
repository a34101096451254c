-- refused: EXISTS and IN (SELECT ...) stand only as conditions of WHERE or HAVING that are joined by AND
-- hint: write one query for each case and UNION ALL them
-- at: 6:12
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id, EXISTS (SELECT * FROM bid WHERE auction = id) AS has_bid FROM item;
