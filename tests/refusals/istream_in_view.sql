-- refused: ISTREAM stands only on the outermost SELECT of a query
-- hint: leave it out here, and put SELECT ISTREAM * FROM (...) AS q around the whole query
-- at: 5:28
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE VIEW news AS SELECT ISTREAM * FROM bid;
