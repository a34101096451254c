-- refused: cannot compare STRING with INT
-- hint: say what is meant: CAST(... AS INT)
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE kind > 10;
