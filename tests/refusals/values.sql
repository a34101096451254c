-- refused: FROM reads streams, tables, views and subqueries
-- hint: a table's rows come from USING ... OPTIONS (...)
-- at: 4:23
SELECT * FROM VALUES (1, 2) AS v;
