-- refused: a subquery is a relation, and has no window
-- hint: a window is of a stream: put it behind the stream's name, inside the subquery or view
-- at: 5:35
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM (SELECT * FROM bid) [RANGE 1 HOUR] AS q;
