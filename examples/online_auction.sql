-- The difference between the final and the initial price of each item of an auction. Li et al., example 1: itemid is
-- unique in item, and bid has punctuations on itemid, as rows of a stream of their own: a closed item can be forgotten.
-- The paper takes for granted that the item of each bid comes. Here that is not declared, and the query not safe: a bid
-- whose item never comes would wait indefinitely. `penstock check` says which declaration is missing.

CREATE STREAM item (
  sellerid BIGINT, itemid BIGINT, name STRING, initialprice DECIMAL(12, 2), ts TIMESTAMP,
  UNIQUE (itemid)
) TIMESTAMP BY ts USING json OPTIONS (path 'data/item');

CREATE STREAM bid (
  bidderid BIGINT, itemid BIGINT, increase DECIMAL(12, 2), ts TIMESTAMP,
  PUNCTUATED BY (itemid) FROM closed (itemid)   -- the scheme (-, +, -)
) TIMESTAMP BY ts USING json OPTIONS (path 'data/bid');

CREATE STREAM closed (itemid BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING json OPTIONS (path 'data/closed');

CREATE QUERY gain AS
SELECT item.itemid, SUM(bid.increase) AS gain
FROM item, bid
WHERE item.itemid = bid.itemid
GROUP BY item.itemid;
