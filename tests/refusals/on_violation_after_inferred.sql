-- refused: what is INFERRED cannot be violated: its k follows the rows
-- hint: leave ON VIOLATION out, or write WITHIN and ON VIOLATION WIDEN
-- at: 4:78
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, ORDERED BY auction INFERRED ON VIOLATION WARN) TIMESTAMP BY ts;
