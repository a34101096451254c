-- refused: arrays, maps and structs are not supported
-- at: 4:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT kind[0] AS k FROM bid;
