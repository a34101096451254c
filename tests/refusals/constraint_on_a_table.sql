-- refused: of a table only UNIQUE and NOT NULL can be said: nothing of it arrives
-- at: 3:48
CREATE TABLE category (id BIGINT, name STRING, ORDERED BY id WITHIN 10 ROWS);
