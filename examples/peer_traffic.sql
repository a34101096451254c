-- Sampled packets of those intervals in which a link carried much traffic to one peer ISP.
-- Thesis, example 6.1.3: a packet's measurement comes at the end of its five minutes, and there are at most 25 peers,
-- so it is among the next 25 measurements.

CREATE STREAM packet (
  header STRING, peer BIGINT, slot BIGINT, ts TIMESTAMP,
  FOREIGN KEY (peer, slot) REFERENCES measurement (peer, slot) WITHIN 25 ROWS
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/packet');

CREATE STREAM measurement (
  peer BIGINT, bytes BIGINT, slot BIGINT, ts TIMESTAMP,
  UNIQUE (peer, slot)
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/measurement');

CREATE QUERY sampled AS
SELECT ISTREAM p.header, p.peer, m.bytes
FROM packet p JOIN measurement m ON p.peer = m.peer AND p.slot = m.slot
WHERE m.bytes > 1000000000;
