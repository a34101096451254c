-- refused: there is no STRING + STRING
-- hint: strings are joined with ||
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT kind + '!' AS x FROM bid;
