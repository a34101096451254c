-- refused: a query has no option speed
-- hint: its only option is adaptive
-- at: 5:22
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q WITH (speed = 'off') AS SELECT auction FROM bid;
