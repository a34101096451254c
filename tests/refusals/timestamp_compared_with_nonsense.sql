-- refused: cannot compare TIMESTAMP with STRING
-- hint: 'yesterday' does not read as a time; write it as '2026-01-31 12:00:00'
-- at: 5:25
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE ts > 'yesterday';
