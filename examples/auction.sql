-- An online auction with everything that can be said of its streams.
-- How much was bid for each item in all, and which categories have items without any bid?

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, ts TIMESTAMP, kind STRING,
  FOREIGN KEY (auction) REFERENCES item (id) WITHIN 100 ROWS,   -- RIDS(100): its item comes at most 100 items later
  CLUSTERED BY auction WITHIN 500 ROWS,                         -- CA(500)
  ORDERED BY ts WITHIN 20 ROWS,                                 -- OA(20)
  PUNCTUATED BY (auction) WHEN kind = 'close'                   -- a scheme, and the rows that are its punctuations
) TIMESTAMP BY ts DELAY 5 SECONDS
USING parquet OPTIONS (path 'data/bid');

CREATE STREAM item (id BIGINT, seller BIGINT, price BIGINT, category BIGINT, ts TIMESTAMP, UNIQUE (id))
TIMESTAMP BY ts
USING json OPTIONS (path 'data/item');

CREATE TABLE category (id BIGINT, name STRING) USING csv OPTIONS (path 'data/category.csv', header 'true');

CREATE VIEW open_bid AS
SELECT auction, bidder, price, ts FROM bid WHERE kind <> 'close';

-- A query has a name; several may run together and share state.
CREATE QUERY gain AS
SELECT i.id, SUM(b.price) FROM item [UNBOUNDED] i, bid [UNBOUNDED] b WHERE i.id = b.auction GROUP BY i.id;

CREATE QUERY waiting AS
SELECT c.name, COUNT(*) AS items
FROM item [RANGE 1 HOUR] i JOIN category c ON i.category = c.id
WHERE NOT EXISTS (SELECT * FROM open_bid b WHERE b.auction = i.id)
GROUP BY c.name;
