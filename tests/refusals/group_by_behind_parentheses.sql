-- refused: GROUP BY behind a query in parentheses is not supported
-- hint: put it inside
-- at: 5:27
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
(SELECT auction FROM bid) GROUP BY auction;
