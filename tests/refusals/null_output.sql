-- refused: the output nothing is NULL and nothing else
-- hint: give it a type: CAST(NULL AS STRING)
-- at: 5:17
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, NULL AS nothing FROM bid;
