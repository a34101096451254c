-- refused: this comment is not closed
-- hint: add a closing */
-- at: 5:19
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid /* all of them;
