-- refused: there is no column acution
-- hint: did you mean auction?
-- at: 14:8
-- refused: there is no function MEDAIN
-- hint: declare a function of your own with session.function or --functions, or compute the column in the DataFrame
-- at: 14:17
-- refused: cannot compare STRING with INT
-- hint: say what is meant: CAST(... AS INT)
-- at: 14:46
-- refused: there is no column prize
-- hint: did you mean price?
-- at: 14:60
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT acution, MEDAIN(price) FROM bid WHERE kind > 10 AND prize = 5;
