-- refused: this string is not closed
-- hint: add a closing '
-- at: 6:32
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
-- what's closed
SELECT * FROM bid WHERE kind = 'close;
