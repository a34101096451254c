-- refused: this pattern ends in its escape character
-- hint: write it twice: !!
-- at: 5:35
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE kind LIKE 'close!' ESCAPE '!';
