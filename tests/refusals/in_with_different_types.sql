-- refused: cannot compare BIGINT with STRING
-- hint: say what is meant: CAST(... AS BIGINT)
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE price IN (1, 'two');
