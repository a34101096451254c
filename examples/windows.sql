-- Every window, and every way back from a relation to a stream.
-- Thesis 2.1: windows turn a stream into a relation, ISTREAM, DSTREAM and RSTREAM turn one into a stream.

CREATE STREAM car (
  id BIGINT,
  speed BIGINT,
  ts TIMESTAMP
) TIMESTAMP BY ts
USING parquet OPTIONS (path 'data/car');

-- All cars so far. No window says the same, and so do [ROWS UNBOUNDED] and [RANGE UNBOUNDED].
CREATE QUERY so_far AS
SELECT COUNT(*) AS cars FROM car [UNBOUNDED];

CREATE QUERY in_the_last_minute AS
SELECT AVG(speed) AS speed FROM car [RANGE 1 MINUTE];

-- The same, but it moves only every ten seconds.
CREATE QUERY in_steps AS
SELECT AVG(speed) AS speed FROM car [RANGE 1 MINUTE SLIDE 10 SECONDS];

CREATE QUERY at_this_instant AS
SELECT COUNT(*) AS cars FROM car [NOW];

CREATE QUERY of_the_last_thousand AS
SELECT MAX(speed) AS speed FROM car [ROWS 1000];

-- The latest report of each car.
CREATE QUERY latest AS
SELECT id, speed FROM car [PARTITION BY id ROWS 1];

-- Who comes into sight, who leaves it, and who is in sight at each instant.
CREATE QUERY come AS
SELECT ISTREAM(DISTINCT id) FROM car [RANGE 30 SECONDS];

CREATE QUERY gone AS
SELECT DSTREAM(DISTINCT id) FROM car [RANGE 30 SECONDS];

CREATE QUERY there AS
SELECT RSTREAM(DISTINCT id) FROM car [RANGE 30 SECONDS];
