-- refused: this query reads more than 500 streams and tables
-- hint: views and queries of WITH are read anew wherever they stand
-- at: 7:1
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE VIEW v1 AS SELECT x.auction FROM bid x, bid y, bid z WHERE x.auction = y.auction AND y.auction = z.auction;
CREATE VIEW v2 AS SELECT a.auction FROM v1 a, v1 b, v1 c, v1 d, v1 e, v1 f, v1 g, v1 h, v1 i, v1 j;
CREATE QUERY q AS SELECT a.auction FROM v2 a, v2 b, v2 c, v2 d, v2 e, v2 f, v2 g, v2 h, v2 i, v2 j, v2 k,
  v2 l, v2 m, v2 n, v2 o, v2 p, v2 q, v2 r, v2 s, v2 t, v2 u, v2 v, v2 w, v2 x, v2 y, v2 z,
  v2 a2, v2 b2, v2 c2, v2 d2, v2 e2, v2 f2, v2 g2, v2 h2;
