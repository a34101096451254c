-- refused: a query has no option speed
-- hint: its options are adaptive, early and plan
-- at: 5:22
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q WITH (speed = 'off') AS SELECT auction FROM bid;
