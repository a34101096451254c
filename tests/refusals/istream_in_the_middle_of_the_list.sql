-- refused: ISTREAM stands right after the outermost SELECT, around the whole list
-- hint: write SELECT ISTREAM(a, b) FROM ...
-- at: 5:17
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT auction, ISTREAM(price) FROM bid;
