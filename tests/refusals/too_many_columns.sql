-- refused: this query has 6050 columns, and 5000 are the most
-- hint: list those that you need
-- at: 5:16
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM (SELECT *, *, *, *, *, *, *, *, *, * FROM (SELECT *, *, *, *, *, *, *, *, *, *, * FROM
 (SELECT *, *, *, *, *, *, *, *, *, *, * FROM bid) AS a) AS b) AS c;
