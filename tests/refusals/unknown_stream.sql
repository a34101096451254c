-- refused: there is no stream, table or view bids
-- hint: declare it with CREATE STREAM
-- at: 4:15
SELECT * FROM bids;
