-- refused: there is no function to_date
-- hint: write CAST(x AS DATE)
-- at: 14:8
-- refused: there is no function unix_timestamp
-- hint: write UNIX_SECONDS(ts)
-- at: 14:26
-- refused: there is no function int
-- hint: write CAST(x AS INT)
-- at: 14:51
-- refused: there is no function date_add
-- hint: write d + INTERVAL 3 DAYS
-- at: 14:64
CREATE STREAM s (a BIGINT, b STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT to_date(ts) AS d, unix_timestamp(ts) AS u, int(b) AS i, date_add(CAST(ts AS DATE), 3) AS e FROM s
