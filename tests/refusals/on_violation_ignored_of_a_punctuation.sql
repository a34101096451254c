-- refused: a row that a punctuation rules out is never ignored
-- hint: write WARN or ERROR
-- at: 4:85
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, PUNCTUATED BY auction ON VIOLATION IGNORE) TIMESTAMP BY ts;
