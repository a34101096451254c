-- refused: a condition is true or false, and this is a STRING
-- hint: compare it with something
-- at: 4:92
CREATE STREAM bid (auction BIGINT, kind STRING, ts TIMESTAMP, PUNCTUATED BY (auction) WHEN kind) TIMESTAMP BY ts;
