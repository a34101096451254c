-- refused: cannot compare BOOLEAN with INT
-- hint: compare two values at a time, and join the comparisons with AND
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE 1 < price < 5;
