-- refused: LEFT OUTER JOIN is not supported
-- hint: write the matches UNION ALL the rows with NOT EXISTS (...) and NULLs
-- at: 6:30
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM item LEFT JOIN bid ON auction = id;
