-- refused: DSTREAM stands right after the outermost SELECT, around the whole list
-- hint: write SELECT DSTREAM(a, b) FROM ...
-- at: 5:26
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT ISTREAM(auction), DSTREAM(price) FROM bid;
