-- refused: DISTINCT stands only in an aggregate, and UPPER is none
-- at: 4:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT UPPER(DISTINCT kind) FROM bid;
