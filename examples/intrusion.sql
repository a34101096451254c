-- Packets to the database servers of an enterprise that carry the two byte sequences of an attack.
-- Thesis 4.1.1: lookup(destination, T) and match(payload, pattern) are three filters that may run in any order.
-- Payloads are strings of hexadecimal digits here, and the sequences are shorter than 100 and 256 bytes.

CREATE STREAM packet (
  source STRING,
  destination STRING,
  payload STRING,
  ts TIMESTAMP
) TIMESTAMP BY ts DELAY 1 SECOND
USING kafka OPTIONS (kafka.bootstrap.servers 'localhost:9092', subscribe 'packets');

CREATE TABLE target (prefix STRING) USING csv OPTIONS (path 'data/target.csv', header 'true');

CREATE QUERY attack AS
SELECT ISTREAM *
FROM packet p
WHERE EXISTS (SELECT * FROM target t WHERE STARTSWITH(p.destination, t.prefix))
  AND CONTAINS(p.payload, 'a70f33e8')
  AND CONTAINS(p.payload, '7c11d09b');
