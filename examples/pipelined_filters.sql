-- Filters that are windows of other streams: a row passes if it is among the last 10,000 of each.
-- Thesis 4.7, where filter i is "S0 in (Select * From Si [Rows 10,000])"; a row has two columns here, and its
-- timestamp does not count.

CREATE STREAM s0 (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s0');
CREATE STREAM s1 (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s1');
CREATE STREAM s2 (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s2');
CREATE STREAM s3 (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s3');

CREATE QUERY passing AS
Select Istream(*)
From S0 [Now]
Where (S0.A, S0.B) in (Select A, B From S1 [Rows 10000])
  and (S0.A, S0.B) in (Select A, B From S2 [Rows 10000])
  and (S0.A, S0.B) in (Select A, B From S3 [Rows 10000]);
