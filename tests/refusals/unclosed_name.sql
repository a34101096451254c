-- refused: this quoted name is not closed
-- hint: add a closing `
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT `price FROM bid;
