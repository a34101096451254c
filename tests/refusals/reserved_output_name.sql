-- refused: _ts is a column of every output
-- hint: give this one another name with AS
-- at: 5:17
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, ts AS _ts FROM bid;
