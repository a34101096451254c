-- refused: CREATE is not expected here
-- hint: end the statement before it with ;
-- at: 6:1
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY first AS SELECT price FROM bid
CREATE QUERY second AS SELECT auction FROM bid;
