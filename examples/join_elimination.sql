-- Joins and anti-joins that counting replaces: the rules of Koudas et al., sections 4.2 and 4.3, with k = 300 seconds.
-- As printed, the anti-join's rule loses intervals without any row of s2; `unmatched_everywhere` keeps them.

CREATE STREAM s1 (time BIGINT, id BIGINT, a STRING) TIMESTAMP BY time USING parquet OPTIONS (path 'data/s1');
CREATE STREAM s2 (time BIGINT, id BIGINT, a STRING) TIMESTAMP BY time USING parquet OPTIONS (path 'data/s2');

CREATE ASSERTION s1_key FOR s1 x, s1 y WHERE x.id = y.id THEN x.a = y.a AND x.time = y.time;
CREATE ASSERTION s2_key FOR s2 x, s2 y WHERE x.id = y.id THEN x.a = y.a AND x.time = y.time;

-- Every row of s2 comes within a second of its row of s1. Times are in microseconds.
CREATE ASSERTION s2_into_s1 FOR s2 y
THEN EXISTS s1 x WHERE x.id = y.id AND x.a = y.a AND y.time - x.time >= 0 AND y.time - x.time <= 1000000;

CREATE QUERY matched AS
SELECT tb, count(*) as cnt
FROM s1, s2
WHERE s1.id = s2.id
GROUP BY s1.time / 300000000 as tb;

CREATE QUERY matched_by_counting AS
SELECT s1.tb, least(s1.cnt, s2.cnt) as cnt
FROM ( SELECT tb, count(*) as cnt FROM s1 GROUP BY time / 300000000 as tb ) s1,
     ( SELECT tb, count(*) as cnt FROM s2 GROUP BY time / 300000000 as tb ) s2
WHERE s1.tb = s2.tb AND least(s1.cnt, s2.cnt) > 0;

CREATE QUERY unmatched AS
SELECT tb, count(*) as cnt
FROM s1
WHERE NOT EXISTS ( SELECT * FROM s2 WHERE s1.id = s2.id )
GROUP BY s1.time / 300000000 as tb;

CREATE QUERY unmatched_by_counting AS
SELECT s1.tb, s1.cnt - s2.cnt as cnt
FROM ( SELECT tb, count(*) as cnt FROM s1 GROUP BY time / 300000000 as tb ) s1,
     ( SELECT tb, count(*) as cnt FROM s2 GROUP BY time / 300000000 as tb ) s2
WHERE s1.tb = s2.tb AND s1.cnt - s2.cnt > 0;

CREATE QUERY unmatched_everywhere AS
SELECT tb, SUM(one) AS cnt
FROM ( SELECT time / 300000000 AS tb, 1 AS one FROM s1
       UNION ALL
       SELECT time / 300000000 AS tb, -1 AS one FROM s2 ) AS both_streams
GROUP BY tb
HAVING SUM(one) > 0;

-- The same two questions where counts may be intervals that hold the exact ones.
CREATE QUERY matched_within AS
SELECT tb, count(*) as cnt
FROM s1, s2
WHERE s1.id = s2.id
GROUP BY s1.time / 300000000 as tb
APPROXIMATE;

CREATE QUERY unmatched_within AS
SELECT tb, count(*) as cnt
FROM s1
WHERE NOT EXISTS ( SELECT * FROM s2 WHERE s1.id = s2.id )
GROUP BY s1.time / 300000000 as tb
APPROXIMATE;
