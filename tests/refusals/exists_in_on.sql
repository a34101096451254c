-- refused: EXISTS and IN (SELECT ...) do not stand here
-- hint: they stand in WHERE, HAVING and the select list, CASE included
-- at: 6:45
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT a.id FROM a JOIN b ON a.id = b.id OR EXISTS (SELECT * FROM b AS c WHERE c.id = a.id);
