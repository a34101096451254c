-- refused: cannot create INDEX
-- hint: CREATE makes a STREAM, TABLE, VIEW, QUERY or ASSERTION
-- at: 4:8
CREATE INDEX i ON bid (price);
