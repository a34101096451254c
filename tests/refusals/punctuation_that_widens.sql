-- refused: a punctuation has no k that could be widened
-- hint: write WARN or ERROR
-- at: 4:87
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, PUNCTUATED BY (auction) ON VIOLATION WIDEN) TIMESTAMP BY ts;
