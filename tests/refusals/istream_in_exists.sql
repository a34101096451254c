-- refused: ISTREAM stands only on the outermost SELECT of a query
-- hint: leave it out here, and put SELECT ISTREAM * FROM (...) AS q around the whole query
-- at: 6:43
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM item i WHERE EXISTS (SELECT ISTREAM(*) FROM bid b WHERE b.auction = i.id);
