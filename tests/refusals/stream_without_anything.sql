-- refused: expected columns in parentheses
-- hint: write (name TYPE, ...)
-- at: 4:18
CREATE STREAM bid;
