-- refused: cannot drop this
-- hint: DROP takes a STREAM, TABLE, VIEW, QUERY or ASSERTION
-- at: 4:6
DROP INDEX i;
