-- refused: ELSE starts no statement
-- hint: statements are CREATE, ALTER, DROP and SELECT
-- at: 4:1
ELSE;
