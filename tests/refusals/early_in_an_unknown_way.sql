-- refused: expected whether results come early
-- hint: write 'on' or 'off'
-- at: 5:30
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q WITH (early = 'perhaps') AS SELECT auction FROM bid;
