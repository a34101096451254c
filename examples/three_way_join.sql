-- R joined with S on A and S with T on B, over windows of rows: the first query of thesis 5.8.1.
-- Which subresult is worth a cache depends on how fast each stream comes and on how often they match.

CREATE STREAM r (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/r');
CREATE STREAM s (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s');
CREATE STREAM t (b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/t');

CREATE QUERY joined AS
Select *
From R [Rows 500], S [Rows 1000], T [Rows 2000]
Where R.A = S.A and S.B = T.B;
