-- refused: WITH RECURSIVE is not supported
-- at: 4:16
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
WITH RECURSIVE r AS (SELECT auction FROM bid UNION ALL SELECT auction FROM r) SELECT * FROM r;
