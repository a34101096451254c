-- Three streams that join in a ring, and the schemes that make the join safe or do not: Li et al., sections 3.2 to 5.1.
-- Figure 5 is safe as one three-way join, and not as any tree of two-way joins; figure 8 needs a scheme on two columns
-- at once, and one more than the paper has, on s2 (c), for the state of s3.

CREATE STREAM s1 (a BIGINT, b BIGINT, ts TIMESTAMP, PUNCTUATED BY (b))
TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s1');

CREATE STREAM s2 (b BIGINT, c BIGINT, ts TIMESTAMP, PUNCTUATED BY (c))
TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s2');

CREATE STREAM s3 (a BIGINT, c BIGINT, ts TIMESTAMP, PUNCTUATED BY (a))
TIMESTAMP BY ts USING parquet OPTIONS (path 'data/s3');

-- Without the third predicate: a path, not a ring.
CREATE QUERY figure_3 AS
SELECT * FROM s1, s2, s3 WHERE s1.b = s2.b AND s2.c = s3.c;

CREATE QUERY figure_5 AS
SELECT * FROM s1, s2, s3 WHERE s1.b = s2.b AND s2.c = s3.c AND s3.a = s1.a;

CREATE STREAM u1 (a BIGINT, b BIGINT, ts TIMESTAMP, PUNCTUATED BY (b))
TIMESTAMP BY ts USING parquet OPTIONS (path 'data/u1');

CREATE STREAM u2 (b BIGINT, c BIGINT, ts TIMESTAMP, PUNCTUATED BY (b), PUNCTUATED BY (c))
TIMESTAMP BY ts USING parquet OPTIONS (path 'data/u2');

CREATE STREAM u3 (a BIGINT, c BIGINT, ts TIMESTAMP, PUNCTUATED BY (a, c))
TIMESTAMP BY ts USING parquet OPTIONS (path 'data/u3');

CREATE QUERY figure_8 AS
SELECT * FROM u1, u2, u3 WHERE u1.b = u2.b AND u2.c = u3.c AND u3.a = u1.a;

-- A sequence number of TCP comes again after about 4.55 hours, so the end of a transmission holds only so long.
CREATE STREAM segment (
  ip STRING, sequence BIGINT, flags STRING, ts TIMESTAMP,
  PUNCTUATED BY (ip, sequence) WHEN flags = 'FIN' LIFESPAN 4.55 HOURS
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/segment');

CREATE QUERY retransmitted AS
SELECT ISTREAM first.ip, first.sequence
FROM segment first, segment again
WHERE first.ip = again.ip AND first.sequence = again.sequence AND first.ts < again.ts;
