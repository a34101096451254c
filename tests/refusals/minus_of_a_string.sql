-- refused: there is no -STRING
-- hint: CAST it to a number
-- at: 5:9
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT -kind AS x FROM bid;
