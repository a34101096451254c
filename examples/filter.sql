-- A stream through three filters, thesis 2.1.3 (example 2.1.1), 3.2 and 4.1.
-- Written out with a window and ISTREAM, and in short. The short form gives the relation's changes: as rows only
-- enter it, they are the same rows.

CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT, ts TIMESTAMP) TIMESTAMP BY ts
USING parquet OPTIONS (path 'data/s');

CREATE QUERY written_out AS
Select Istream(*) From S [Rows Unbounded] Where S.A > 10 and S.B < 20 and S.C > 40;

CREATE QUERY in_short AS
Select * From S Where S.A > 10 and S.B < 20 and S.C > 40;
