-- Which queries need no more than a constant amount of memory, whatever arrives?
-- Arasu et al., table 1: nine queries over S(A, B, C) and T(D, E), all integers, which keep duplicates or do not.
-- Beside each stands the paper's answer. Q9 is printed garbled; this is the reading that has that answer.

CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s');
CREATE STREAM t (d BIGINT, e BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/t');

CREATE QUERY q1 AS               -- bounded
SELECT S.A FROM S WHERE S.A > 10;

CREATE QUERY q1_distinct AS      -- not bounded
SELECT DISTINCT S.A FROM S WHERE S.A > 10;

CREATE QUERY q2 AS               -- not bounded
SELECT S.A FROM S, T WHERE S.A = T.D;

CREATE QUERY q2_distinct AS      -- not bounded
SELECT DISTINCT S.A FROM S, T WHERE S.A = T.D;

CREATE QUERY q3 AS               -- bounded
SELECT S.A FROM S, T WHERE S.A = T.D AND S.A > 10 AND T.D < 20;

CREATE QUERY q3_distinct AS      -- bounded
SELECT DISTINCT S.A FROM S, T WHERE S.A = T.D AND S.A > 10 AND T.D < 20;

CREATE QUERY q4 AS               -- not bounded
SELECT S.A FROM S, T WHERE S.B < T.D AND S.A > 10 AND S.A < 20;

CREATE QUERY q4_distinct AS      -- bounded
SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.A > 10 AND S.A < 20;

CREATE QUERY q5 AS               -- bounded
SELECT S.A FROM S, T WHERE S.B < T.D AND S.B < 120 AND T.D > 20 AND S.A > 10 AND S.A < 20;

CREATE QUERY q5_distinct AS      -- bounded
SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.B < 120 AND T.D > 20 AND S.A > 10 AND S.A < 20;

CREATE QUERY q6 AS               -- not bounded
SELECT S.A FROM S, T WHERE S.B > T.D AND S.B > T.E AND S.A = 10;

CREATE QUERY q6_distinct AS      -- bounded
SELECT DISTINCT S.A FROM S, T WHERE S.B > T.D AND S.B > T.E AND S.A = 10;

CREATE QUERY q7 AS               -- not bounded
SELECT S.A FROM S, T WHERE S.A < T.D AND S.B < T.E AND S.A > 10 AND S.A < 20;

CREATE QUERY q7_distinct AS      -- bounded
SELECT DISTINCT S.A FROM S, T WHERE S.A < T.D AND S.B < T.E AND S.A > 10 AND S.A < 20;

CREATE QUERY q8 AS               -- not bounded
SELECT S.A FROM S, T WHERE S.B < T.D AND S.C < T.E AND S.A > 10 AND S.A < 20;

CREATE QUERY q8_distinct AS      -- not bounded
SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.C < T.E AND S.A > 10 AND S.A < 20;

CREATE QUERY q9 AS               -- not bounded
SELECT S.A FROM S, T WHERE S.B < T.D AND S.C < T.E AND S.B < T.E AND S.C < 100 AND T.D > 50 AND S.A > 10 AND S.A < 20;

CREATE QUERY q9_distinct AS      -- bounded
SELECT DISTINCT S.A FROM S, T WHERE S.B < T.D AND S.C < T.E AND S.B < T.E AND S.C < 100 AND T.D > 50 AND S.A > 10 AND S.A < 20;
