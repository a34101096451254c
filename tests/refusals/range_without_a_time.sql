-- refused: expected a time after RANGE
-- hint: for example RANGE 10 MINUTES
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [RANGE];
