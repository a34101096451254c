-- refused: CAST takes a type and nothing else
-- hint: where a value cannot be cast it is NULL
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT CAST(kind AS INT DEFAULT 0 ON CONVERSION ERROR) AS kind FROM bid;
