-- refused: there is no STRING + INTERVAL
-- hint: write a time as TIMESTAMP '2026-01-31 12:00:00'
-- at: 5:30
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE ts > '2026-01-31' + INTERVAL 1 HOUR;
