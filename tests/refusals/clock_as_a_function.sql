-- refused: there is no NOW: a result depends on the input alone
-- hint: compare with the stream's own time column, or use a window such as [RANGE 1 HOUR]
-- at: 5:30
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bid WHERE ts > NOW() - INTERVAL 1 HOUR;
