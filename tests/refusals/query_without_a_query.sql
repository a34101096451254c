-- refused: expected AS
-- hint: write CREATE QUERY name AS SELECT ...
-- at: 4:18
CREATE QUERY dear;
