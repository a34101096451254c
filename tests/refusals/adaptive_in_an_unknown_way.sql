-- refused: expected how far the query adapts
-- hint: write 'off', 'orders', 'full'
-- at: 5:33
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q WITH (adaptive = 'some') AS SELECT auction FROM bid;
