-- refused: punctuations come from a stream, and category is none
-- at: 4:79
CREATE TABLE category (id BIGINT, name STRING);
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, PUNCTUATED BY (auction) FROM category (id)) TIMESTAMP BY ts;
