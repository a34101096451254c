-- refused: there is no function COLLECT_LIST
-- hint: collect the rows behind the query, in the DataFrame that it gives
-- at: 8:8
-- refused: there is no function BOOL_OR
-- hint: write COUNT_IF(x) > 0
-- at: 8:30
CREATE STREAM s (a BIGINT, b STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT COLLECT_LIST(b) AS l, BOOL_OR(a > 1) AS o FROM s
