-- refused: positive is an assertion, which has no rows
-- at: 5:15
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE ASSERTION positive FOR bid x THEN x.price > 0;
SELECT * FROM positive;
