-- The total traffic of a customer network that went through three links of an ISP in the last ten minutes.
-- Thesis 1.3, 3.3 and 6.1.1: packets flow from link C to link B to link O, with a bounded latency in between,
-- so a row of c finds its partner in b at most two seconds later, and a row of b finds its own in c at once.

CREATE STREAM c (
  pid BIGINT, size BIGINT, ts TIMESTAMP,
  UNIQUE (pid),
  FOREIGN KEY (pid) REFERENCES b (pid) WITHIN 2 SECONDS
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/c');

CREATE STREAM b (
  pid BIGINT, size BIGINT, ts TIMESTAMP,
  UNIQUE (pid),
  FOREIGN KEY (pid) REFERENCES c (pid) WITHIN 0 ROWS,
  FOREIGN KEY (pid) REFERENCES o (pid) WITHIN 3 SECONDS
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/b');

CREATE STREAM o (
  pid BIGINT, size BIGINT, ts TIMESTAMP,
  UNIQUE (pid),
  FOREIGN KEY (pid) REFERENCES b (pid) WITHIN 0 ROWS
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/o');

CREATE QUERY traffic AS
Select sum(C.size)
From C [Range 10 minutes], B [Range 10 minutes], O [Range 10 minutes]
Where C.pid = B.pid and B.pid = O.pid;
