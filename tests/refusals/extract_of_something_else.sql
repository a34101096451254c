-- refused: cannot extract CENTURY
-- hint: YEAR, MONTH, DAY, HOUR, MINUTE and SECOND can be
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT EXTRACT(CENTURY FROM ts) AS c FROM bid;
