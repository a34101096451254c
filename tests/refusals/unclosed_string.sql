-- refused: this string is not closed
-- hint: add a closing '
-- at: 5:32
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE kind = 'close;
