-- refused: LIKE takes a string, not a BIGINT
-- hint: CAST it to STRING
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE price LIKE '1%';
