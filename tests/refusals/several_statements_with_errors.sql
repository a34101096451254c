-- refused: there is no column acution
-- hint: did you mean auction?
-- at: 10:30
-- refused: something is missing at the end
-- at: 11:51
-- refused: there is no stream, table or view bids
-- hint: did you mean bid?
-- at: 12:41
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY first AS SELECT acution FROM bid;
CREATE QUERY second AS SELECT price FROM bid WHERE;
CREATE QUERY third AS SELECT price FROM bids;
