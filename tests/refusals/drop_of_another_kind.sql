-- refused: bid is a stream
-- hint: write DROP STREAM bid
-- at: 5:12
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
DROP TABLE bid;
