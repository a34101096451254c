-- refused: there is no stream closed
-- hint: declare it with CREATE STREAM
-- at: 4:79
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, PUNCTUATED BY (auction) FROM closed (id)) TIMESTAMP BY ts;
