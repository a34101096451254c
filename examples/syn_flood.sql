-- For each five minutes, how many SYN packets have a matching SYN-ACK, but no matching ACK within five seconds?
-- Koudas et al., section 2: the query as it is asked, and the one that counts the streams apart and joins nothing.
-- The assertions (i) to (ix) of their example 2 are what the step from one to the other leans on.

CREATE STREAM syn (time TIMESTAMP, VIRTUAL id BIGINT, ip STRING) TIMESTAMP BY time
USING parquet OPTIONS (path 'data/syn');

CREATE STREAM synack (time TIMESTAMP, VIRTUAL id BIGINT, ip STRING) TIMESTAMP BY time
USING parquet OPTIONS (path 'data/synack');

CREATE STREAM ack (time TIMESTAMP, VIRTUAL id BIGINT, ip STRING) TIMESTAMP BY time
USING parquet OPTIONS (path 'data/ack');

-- (i) to (iii): id is a key of each stream.
CREATE ASSERTION syn_key FOR syn x, syn y WHERE x.id = y.id THEN x.ip = y.ip AND x.time = y.time;
CREATE ASSERTION synack_key FOR synack x, synack y WHERE x.id = y.id THEN x.ip = y.ip AND x.time = y.time;
CREATE ASSERTION ack_key FOR ack x, ack y WHERE x.id = y.id THEN x.ip = y.ip AND x.time = y.time;

-- (iv) and (v): and refers to the packet before.
CREATE ASSERTION synack_after_syn FOR syn s, synack sa WHERE s.id = sa.id
THEN s.ip = sa.ip AND sa.time >= s.time;
CREATE ASSERTION ack_after_synack FOR synack sa, ack a WHERE sa.id = a.id
THEN sa.ip = a.ip AND a.time >= sa.time;

-- (vi) and (vii): ip is a key for ten seconds.
CREATE ASSERTION syn_ip FOR syn s, synack sa
WHERE s.ip = sa.ip AND sa.time >= s.time AND sa.time - s.time <= INTERVAL 10 SECONDS
THEN s.id = sa.id;
CREATE ASSERTION synack_ip FOR synack sa, ack a
WHERE sa.ip = a.ip AND a.time >= sa.time AND a.time - sa.time <= INTERVAL 10 SECONDS
THEN sa.id = a.id;

-- (viii) and (ix): an ACK comes within a second of its SYN-ACK, and that within a second of its SYN.
CREATE ASSERTION ack_soon FOR ack a
THEN EXISTS synack sa
WHERE sa.id = a.id AND sa.ip = a.ip AND a.time >= sa.time AND a.time - sa.time <= INTERVAL 1 SECOND;
CREATE ASSERTION synack_soon FOR synack sa
THEN EXISTS syn s
WHERE s.id = sa.id AND s.ip = sa.ip AND sa.time >= s.time AND sa.time - s.time <= INTERVAL 1 SECOND;

CREATE QUERY asked AS
SELECT tb, count(*) as cnt
FROM syn s, synack sa
WHERE s.ip = sa.ip
  AND sa.time >= s.time AND sa.time - s.time <= INTERVAL 5 SECONDS
  AND NOT EXISTS
    ( SELECT *
      FROM ack a
      WHERE sa.ip = a.ip AND a.time >= sa.time
        AND a.time - sa.time <= INTERVAL 5 SECONDS )
GROUP BY UNIX_SECONDS(s.time) / 300 as tb;

CREATE QUERY counted_apart AS
SELECT s.tb, least(s.cnt, sa.cnt) - a.cnt as cnt
FROM ( SELECT tb, count(*) as cnt
       FROM syn
       GROUP BY UNIX_SECONDS(time) / 300 as tb ) s,
     ( SELECT tb, count(*) as cnt
       FROM synack
       GROUP BY UNIX_SECONDS(time) / 300 as tb ) sa,
     ( SELECT tb, count(*) as cnt
       FROM ack
       GROUP BY UNIX_SECONDS(time) / 300 as tb ) a
WHERE s.tb = sa.tb AND sa.tb = a.tb
  AND least(s.cnt, sa.cnt) - a.cnt > 0;

-- The same question as "asked", of the same streams, where counts may be intervals: Penstock proves the step itself.
CREATE QUERY approximated AS
SELECT tb, count(*) as cnt
FROM syn s, synack sa
WHERE s.ip = sa.ip
  AND sa.time >= s.time AND sa.time - s.time <= INTERVAL 5 SECONDS
  AND NOT EXISTS
    ( SELECT *
      FROM ack a
      WHERE sa.ip = a.ip AND a.time >= sa.time
        AND a.time - sa.time <= INTERVAL 5 SECONDS )
GROUP BY UNIX_SECONDS(s.time) / 300 as tb
APPROXIMATE EMIT ON CLOSE;
