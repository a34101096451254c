-- A join of two windows of time, with a filter, and with a window of rows, through which no filter can be pushed.
-- Thesis 6.1.5, with its examples 6.1.4 and 6.1.5. The join is many-one from S1 to S2, and OA(100) holds on S2.A.

CREATE STREAM s1 (
  a BIGINT, b BIGINT, ts TIMESTAMP,
  FOREIGN KEY (a) REFERENCES s2 (a) WITHIN 1000 ROWS
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s1');

CREATE STREAM s2 (
  a BIGINT, c BIGINT, ts TIMESTAMP,
  UNIQUE (a),
  ORDERED BY a WITHIN 100 ROWS
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s2');

CREATE QUERY joined AS
Select *
From S1 [Range 5 Minutes], S2 [Range 10 Minutes]
Where S1.A = S2.A;

CREATE QUERY filtered AS
Select *
From S1 [Range 5 Minutes], S2 [Range 10 Minutes]
Where S1.A = S2.A and S1.B > 10;

CREATE QUERY filtered_rows AS
Select *
From S1 [Rows 50000], S2 [Range 10 Minutes]
Where S1.A = S2.A and S1.B > 10;
