-- Links to domains that look like a trusted one, and are not it. `domain` and `similarity` are Python functions:
-- penstock run examples/phishing.sql --functions examples/phishing.py

CREATE STREAM message (id BIGINT, link STRING, ts TIMESTAMP) TIMESTAMP BY ts DELAY 5 SECONDS
USING csv OPTIONS (path 'message.csv', header 'true');

CREATE TABLE trusted (name STRING, UNIQUE (name))
USING csv OPTIONS (path 'trusted.csv', header 'true');

CREATE QUERY lookalike AS
SELECT m.id, domain(m.link) AS domain, t.name AS trusted
FROM message [UNBOUNDED] AS m
JOIN trusted AS t ON similarity(domain(m.link), t.name) BETWEEN 0.4 AND 0.99;
