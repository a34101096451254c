-- A stream that joins two others, each many-one, without windows: only constraints can bound its state.
-- Thesis 6.3, example 6.3.1 with the join graph of figure 6.8(a).

CREATE STREAM s1 (
  a BIGINT, b BIGINT, ts TIMESTAMP,
  FOREIGN KEY (a) REFERENCES s2 (a) WITHIN 100 ROWS,
  FOREIGN KEY (b) REFERENCES s3 (b) WITHIN 1 MINUTE,
  CLUSTERED BY (a) WITHIN 50 ROWS
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s1');

CREATE STREAM s2 (a BIGINT, c BIGINT, ts TIMESTAMP, UNIQUE (a))
TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s2');

CREATE STREAM s3 (b BIGINT, d BIGINT, ts TIMESTAMP, UNIQUE (b))
TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s3');

CREATE QUERY joined AS
Select S1.A, S1.B, C, D
From S1 [Rows Unbounded], S2 [Rows Unbounded], S3 [Rows Unbounded]
Where S1.A = S2.A and S1.B = S3.B and S3.D < 8;
