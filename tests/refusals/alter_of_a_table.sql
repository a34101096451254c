-- refused: category is a table
-- hint: constraints are added to streams
-- at: 5:14
CREATE TABLE category (id BIGINT, name STRING);
ALTER STREAM category ADD UNIQUE (id);
