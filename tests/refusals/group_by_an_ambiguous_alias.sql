-- refused: x is ambiguous: it stands twice in the select list
-- at: 4:60
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT price % 10 AS x, bidder % 10 AS x FROM bid GROUP BY x;
