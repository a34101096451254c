-- refused: expected the query, which starts with SELECT
-- at: 3:22
CREATE QUERY dear AS bid;
