-- refused: a query reads a stream, and this one has no FROM
-- hint: write SELECT ... FROM stream
-- at: 4:1
SELECT 1;
