-- Sensors report temperatures; a table says in which room each of them hangs.
-- Which was the highest temperature of each room in the last ten minutes, and who has become too hot?
-- Check it: penstock check quickstart.sql. See what it means: penstock explain quickstart.sql.

CREATE STREAM reading (
  sensor STRING,
  celsius DOUBLE,
  ts TIMESTAMP
) TIMESTAMP BY ts DELAY 5 SECONDS        -- rows may come five seconds late
USING json OPTIONS (path 'data/reading');

CREATE TABLE room (
  sensor STRING,
  name STRING,
  UNIQUE (sensor)
) USING csv OPTIONS (path 'data/room.csv', header 'true');

-- A query's result changes as rows arrive and leave its windows.
CREATE QUERY highest AS
SELECT room.name, MAX(celsius) AS celsius
FROM reading [RANGE 10 MINUTES] JOIN room USING (sensor)
GROUP BY room.name;

-- ISTREAM gives only what is new: each reading above 30 degrees, once.
CREATE QUERY alarm AS
SELECT ISTREAM(room.name, celsius, ts)
FROM reading [NOW] JOIN room USING (sensor)
WHERE celsius > 30;
