-- refused: there is no RAND: a result depends on the input alone
-- hint: choose rows by their values, such as id % 10 = 0
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE RAND() < 0.1;
