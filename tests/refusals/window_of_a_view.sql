-- refused: dear is a view, and has no window
-- hint: a window is of a stream: put it behind the stream's name, inside the subquery or view
-- at: 6:20
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE VIEW dear AS SELECT * FROM bid WHERE price > 100;
SELECT * FROM dear [ROWS 10];
