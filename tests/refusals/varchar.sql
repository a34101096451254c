-- refused: there is no type VARCHAR(20)
-- hint: write STRING
-- at: 4:25
CREATE STREAM bid (kind VARCHAR(20), ts TIMESTAMP) TIMESTAMP BY ts;
