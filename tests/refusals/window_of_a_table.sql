-- refused: category is a table, and has no window
-- hint: a window is of a stream: put it behind the stream's name, inside the subquery or view
-- at: 6:24
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE TABLE category (id BIGINT, name STRING);
SELECT * FROM category [ROWS 10];
