-- How many passengers are in the subway?
-- Koudas et al., section 2: who pairs each entry with its exit gets the same number as who counts both apart,
-- because nobody is born in the subway.

CREATE STREAM entry (passenger BIGINT, station STRING, ts TIMESTAMP) TIMESTAMP BY ts
USING csv OPTIONS (path 'data/entry', header 'true');

CREATE STREAM leaving (passenger BIGINT, station STRING, ts TIMESTAMP) TIMESTAMP BY ts
USING csv OPTIONS (path 'data/leaving', header 'true');

CREATE ASSERTION enters_once FOR entry x, entry y WHERE x.passenger = y.passenger THEN x.ts = y.ts;
CREATE ASSERTION leaves_once FOR leaving x, leaving y WHERE x.passenger = y.passenger THEN x.ts = y.ts;
CREATE ASSERTION nobody_is_born FOR leaving x THEN EXISTS entry e WHERE e.passenger = x.passenger AND e.ts <= x.ts;

CREATE QUERY inside AS
SELECT COUNT(*) AS passengers
FROM entry e
WHERE NOT EXISTS (SELECT * FROM leaving x WHERE x.passenger = e.passenger);

CREATE QUERY counted_apart AS
SELECT (SELECT COUNT(*) FROM entry) - COUNT(*) AS passengers FROM leaving;
