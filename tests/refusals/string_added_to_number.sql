-- refused: there is no STRING + BIGINT
-- hint: strings are joined with ||
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT kind + price AS x FROM bid;
