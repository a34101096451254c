-- refused: there is no column prize
-- hint: did you mean price?
-- at: 5:19
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
WITH q AS (SELECT prize FROM bid) SELECT * FROM bid;
