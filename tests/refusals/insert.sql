-- refused: INSERT starts no statement
-- hint: a stream takes its rows from USING format OPTIONS (...)
-- at: 5:1
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
INSERT INTO bid VALUES (1, 2, 3);
