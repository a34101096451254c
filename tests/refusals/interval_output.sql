-- refused: the output took is an interval, which no sink can hold
-- hint: count it: UNIX_MICROS(a) - UNIX_MICROS(b)
-- at: 5:8
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT y.ts - x.ts AS took FROM bid x, bid y WHERE x.auction = y.auction;
