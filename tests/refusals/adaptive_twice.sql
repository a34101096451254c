-- refused: the option adaptive is given twice
-- hint: leave one of them out
-- at: 5:40
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q WITH (adaptive = 'off', adaptive = 'full') AS SELECT auction FROM bid;
