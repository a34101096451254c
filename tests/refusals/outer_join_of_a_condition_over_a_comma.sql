-- refused: a condition before this outer join reaches over a comma
-- hint: write JOIN instead of the comma, or put the condition into WHERE
-- at: 6:65
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM a, b AS b1 JOIN b AS b2 ON a.id = b2.id LEFT JOIN b AS b3 ON b3.id = b2.id;
