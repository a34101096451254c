-- refused: q stands twice in WITH
-- hint: give one of them another name
-- at: 5:38
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
WITH q AS (SELECT auction FROM bid), q AS (SELECT price FROM bid) SELECT * FROM q;
