-- refused: a name is not empty
-- at: 4:17
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT price AS `` FROM bid;
