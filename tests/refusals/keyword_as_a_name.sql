-- refused: expected the query's name
-- hint: in backquotes it may be a name: `union`
-- at: 5:14
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY union AS SELECT * FROM bid;
