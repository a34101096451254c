-- refused: RANGE takes a time of whole microseconds
-- at: 4:26
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid [RANGE 0.0000001 SECONDS];
