-- refused: there is no stream, table or view bdi
-- hint: did you mean bid?
-- at: 5:15
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT * FROM bdi;
