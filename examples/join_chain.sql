-- A chain of many-one joins without windows, and the same with a window of one row at its end.
-- Thesis 6.2 and 6.3, examples 6.3.2 and 6.3.4 with the join graph of figure 6.8(b). k-Mon is to find k for the
-- second join.

CREATE STREAM s1 (
  a BIGINT, b BIGINT, ts TIMESTAMP,
  FOREIGN KEY (b) REFERENCES s2 (b) WITHIN 100 ROWS
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s1');

CREATE STREAM s2 (
  b BIGINT, c BIGINT, ts TIMESTAMP,
  UNIQUE (b),
  FOREIGN KEY (c) REFERENCES s3 (c) INFERRED
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s2');

CREATE STREAM s3 (c BIGINT, d BIGINT, ts TIMESTAMP, UNIQUE (c))
TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s3');

CREATE QUERY chain AS
Select *
From S1 [Rows Unbounded], S2 [Rows Unbounded], S3 [Rows Unbounded]
Where S1.B = S2.B and S2.C = S3.C and S3.D > 10;

CREATE QUERY chain_with_a_window AS
Select *
From S1 [Rows Unbounded], S2 [Rows Unbounded], S3 [Rows 1]
Where S1.B = S2.B and S2.C = S3.C and S3.D > 10;
