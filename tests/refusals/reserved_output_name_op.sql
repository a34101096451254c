-- refused: _op is a column of every output
-- hint: give this one another name with AS
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT kind AS _op FROM bid;
