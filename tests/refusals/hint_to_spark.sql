-- refused: there are no hints
-- hint: leave out /*+ ... */
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT /*+ BROADCAST(bid) */ * FROM bid;
