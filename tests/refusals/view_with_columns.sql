-- refused: a view takes the names of its columns from its query
-- hint: name them there: SELECT a AS x
-- at: 5:18
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE VIEW dear (p) AS SELECT price FROM bid;
