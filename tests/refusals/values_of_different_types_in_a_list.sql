-- refused: the list has values of different types: INT, STRING
-- hint: CAST them to one type
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE NULL IN (1, 'two');
