-- refused: expected a unit of time after 2
-- hint: units are MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS
-- at: 5:102
CREATE STREAM item (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, FOREIGN KEY (auction) REFERENCES item (id) LATENCY 2) TIMESTAMP BY ts;
