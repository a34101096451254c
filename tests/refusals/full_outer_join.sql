-- refused: FULL OUTER JOIN is not supported
-- hint: write the matches UNION ALL the rows with NOT EXISTS (...) and NULLs
-- at: 6:36
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM item FULL OUTER JOIN bid ON auction = id;
