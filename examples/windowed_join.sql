-- Two streams joined over a window of rows and a window of time, thesis 2.1.3 (example 2.1.2), 2.2.4 and 5.1,
-- the same as a stream of new values of A, and the query of 2.3.1 that can share the window of S1 with them.

CREATE STREAM s1 (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s1');
CREATE STREAM s2 (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s2');

CREATE QUERY joined AS
Select *
From S1 [Rows 1000], S2 [Range 2 Minutes]
Where S1.A = S2.A and S1.A > 10 and S1.B < 20;

CREATE QUERY new_values AS
Select Istream(S1.A)
From S1 [Rows 1000], S2 [Range 2 Minutes]
Where S1.A = S2.A and S1.A > 10 and S1.B < 20;

CREATE QUERY highest AS
Select A, Max(B)
From S1 [Rows 200]
Group By A;
