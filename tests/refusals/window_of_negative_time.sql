-- refused: RANGE takes a time that is not negative
-- at: 4:27
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [RANGE -5 SECONDS];
