-- Four streams that all join on A, over windows of rows: the second query of thesis 5.8.1, with n = 4.

CREATE STREAM s1 (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s1');
CREATE STREAM s2 (a BIGINT, c BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s2');
CREATE STREAM s3 (a BIGINT, d BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s3');
CREATE STREAM s4 (a BIGINT, e BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s4');

CREATE QUERY joined AS
Select *
From S1 [Rows 1000], S2 [Rows 1000], S3 [Rows 1000], S4 [Rows 1000]
Where S1.A = S2.A and S2.A = S3.A and S3.A = S4.A;
