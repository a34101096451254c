-- refused: this is no tree of joins: a ( is not closed
-- hint: write WITH (plan = '((a b) c)')
-- at: 6:29
CREATE STREAM a (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q WITH (plan = '((a b)') AS SELECT ISTREAM(a.k) FROM a [ROWS 5], b [ROWS 5] WHERE a.k = b.k;
