-- refused: arrays, maps and structs are not supported
-- hint: declare a function of your own with session.function or --functions, or compute the column in the DataFrame
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT kind[0] AS k FROM bid;
