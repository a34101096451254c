-- Every form of the language, one query each: its plan is in golden/language.txt, and mutations start from it.

CREATE STREAM bid (
  auction BIGINT, bidder INT, price BIGINT, kind STRING, rate DOUBLE, amount DECIMAL(10, 2), big BOOLEAN,
  raw BINARY, day DATE, ts TIMESTAMP
) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, seller BIGINT, price BIGINT, name STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM sale (item BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE TABLE category (id BIGINT, name STRING);
CREATE VIEW dear AS SELECT auction, price FROM bid [RANGE 1 HOUR] WHERE price > 100;
CREATE VIEW total AS SELECT auction, SUM(price) AS price, COUNT(*) AS bids FROM bid GROUP BY auction;

CREATE QUERY all_columns AS SELECT * FROM bid;
CREATE QUERY columns_of_one AS SELECT i.*, b.price FROM bid b, item i;
CREATE QUERY renamed AS SELECT auction AS a, price p, price FROM bid;
CREATE QUERY repeated AS SELECT price, price, price AS price_1 FROM bid;
CREATE QUERY window_before_alias AS SELECT b.price FROM bid [ROWS 5] AS b;
CREATE QUERY window_after_alias AS SELECT b.price FROM bid AS b [ROWS 5];
CREATE QUERY window_in_parentheses AS SELECT b.price FROM (bid [ROWS 5]) AS b;
CREATE QUERY partitioned AS SELECT price FROM bid [PARTITION BY auction, bidder ROWS 3];
CREATE QUERY sliding AS SELECT price FROM bid [RANGE 1.5 HOURS SLIDE 500 MILLISECONDS];
CREATE QUERY inserted AS SELECT ISTREAM(auction, price) FROM bid [NOW];
CREATE QUERY deleted AS SELECT DSTREAM * FROM bid [RANGE 1 DAY];
CREATE QUERY there AS SELECT RSTREAM DISTINCT auction FROM bid [ROWS 10];
CREATE QUERY distinct_inside AS SELECT ISTREAM(DISTINCT auction) FROM bid;
CREATE QUERY distinct_outside AS SELECT DISTINCT ISTREAM(auction) FROM bid;
CREATE QUERY unbounded_is_allowed ALLOW UNBOUNDED AS SELECT b.price FROM bid b, item i WHERE b.auction = i.id;
CREATE QUERY when_closed AS SELECT DATE_TRUNC('HOUR', ts) AS hour, COUNT(*) AS n FROM bid GROUP BY 1 EMIT ON CLOSE;
CREATE QUERY when_closed_and_allowed AS SELECT ISTREAM(auction) FROM bid GROUP BY auction EMIT ON CLOSE ALLOW UNBOUNDED;

CREATE QUERY comma_join AS SELECT b.price FROM bid b, item i, sale s WHERE b.auction = i.id AND i.id = s.item;
CREATE QUERY join_on AS SELECT b.price FROM bid b JOIN item i ON b.auction = i.id AND b.price > i.price;
CREATE QUERY join_using AS SELECT * FROM item JOIN category USING (id) JOIN sale USING (price);
CREATE QUERY cross_join AS SELECT b.price FROM bid b CROSS JOIN category;
CREATE QUERY join_and_comma AS SELECT b.price FROM bid b JOIN item i ON b.auction = i.id, category c WHERE c.id = i.id;
CREATE QUERY semi_join AS SELECT price FROM item LEFT SEMI JOIN bid ON auction = id AND bid.price > item.price;
CREATE QUERY anti_join AS SELECT i.price FROM item i LEFT ANTI JOIN bid b ON b.auction = i.id JOIN sale s ON s.item = i.id;
CREATE QUERY self_join AS SELECT x.price, y.price FROM bid x, bid y WHERE x.auction = y.auction AND x.ts < y.ts;
CREATE QUERY view_twice AS SELECT d.price FROM dear d, dear e WHERE d.auction = e.auction;
CREATE QUERY view_of_groups AS SELECT t.auction FROM total t WHERE t.bids > 5 AND t.price / t.bids > 10;
CREATE QUERY derived AS SELECT q.p * 2 AS twice FROM (SELECT price AS p FROM bid WHERE price > 5) AS q WHERE q.p < 100;
CREATE QUERY derived_with_names AS SELECT y FROM (SELECT price, auction FROM bid) AS q (x, y) WHERE x > y;
CREATE QUERY with_query AS WITH d AS (SELECT auction, price FROM bid), e (a) AS (SELECT auction FROM d)
  SELECT d.price FROM d, e WHERE d.auction = e.a;
CREATE QUERY with_query_that_hides AS WITH bid AS (SELECT price + 1 AS price FROM bid) SELECT price FROM bid;

CREATE QUERY grouped AS SELECT auction, bidder, SUM(price) AS total, COUNT(*) FROM bid GROUP BY auction, bidder;
CREATE QUERY group_of_all AS SELECT COUNT(*), MIN(price), MAX(kind), AVG(rate), SUM(amount), COUNT(DISTINCT kind) FROM bid;
CREATE QUERY group_by_number AS SELECT price % 10, COUNT(*) FROM bid GROUP BY 1;
CREATE QUERY group_by_alias AS SELECT price % 10 AS digit, COUNT(*) FROM bid GROUP BY digit;
CREATE QUERY group_by_named AS SELECT tb, COUNT(*) FROM bid GROUP BY price / 300 AS tb, bidder AS who;
CREATE QUERY group_by_expression AS SELECT UPPER(kind) || '!', price + 1 FROM bid GROUP BY UPPER(kind), price;
CREATE QUERY having_aggregates AS SELECT auction FROM bid GROUP BY auction HAVING SUM(price) > 100 AND auction <> 5;
CREATE QUERY having_alias AS SELECT auction, SUM(price) AS price FROM bid GROUP BY auction HAVING price > 100;
CREATE QUERY having_alone AS SELECT 'some' AS answer FROM bid HAVING COUNT(*) > 0;
CREATE QUERY having_nothing AS SELECT 1 AS one FROM bid HAVING TRUE;
CREATE QUERY having_exists AS SELECT auction FROM bid b GROUP BY auction
  HAVING EXISTS (SELECT * FROM item i WHERE i.id = b.auction) AND MAX(b.price) IN (SELECT price FROM item);
CREATE QUERY only_when AS SELECT COUNT(*) FILTER (WHERE price > 5), SUM(DISTINCT price) FILTER (WHERE big) FROM bid;
CREATE QUERY same_aggregate_twice AS SELECT SUM(price), SUM(price) + 1 FROM bid HAVING SUM(price) > 5;

CREATE QUERY exists_some AS SELECT id FROM item i WHERE EXISTS (SELECT 1 FROM bid b WHERE b.auction = i.id AND b.price > 5);
CREATE QUERY not_exists AS SELECT id FROM item i WHERE NOT EXISTS (SELECT * FROM bid WHERE auction = i.id AND i.price > 5);
CREATE QUERY in_query AS SELECT id FROM item WHERE id IN (SELECT auction FROM bid WHERE price > 5);
CREATE QUERY in_query_of_columns AS SELECT id FROM item WHERE (id, price) IN (SELECT auction, price FROM bid);
CREATE QUERY in_correlated AS SELECT id FROM item i WHERE i.id IN (SELECT b.auction FROM bid b WHERE b.price > i.price);
CREATE QUERY not_in AS SELECT id FROM item WHERE id NOT IN (SELECT auction FROM bid);
CREATE QUERY not_in_twice AS SELECT id FROM item WHERE NOT (NOT (id IN (SELECT auction FROM bid)));
CREATE QUERY not_in_constant AS SELECT id FROM item WHERE 5 NOT IN (SELECT 3 FROM bid);
CREATE QUERY in_groups AS SELECT id FROM item WHERE id IN (SELECT auction FROM bid GROUP BY auction HAVING COUNT(*) > 3);
CREATE QUERY in_union AS SELECT id FROM item WHERE id IN (SELECT auction FROM bid UNION SELECT item FROM sale);
CREATE QUERY exists_in_exists AS SELECT id FROM item i WHERE EXISTS (
  SELECT * FROM bid b WHERE b.auction = i.id AND EXISTS (SELECT * FROM sale s WHERE s.item = b.auction));
CREATE QUERY exists_over_a_join AS SELECT id FROM item i WHERE EXISTS (
  SELECT * FROM bid b JOIN sale s ON b.auction = s.item WHERE b.auction = i.id);
CREATE QUERY scalar AS SELECT id FROM item WHERE price > (SELECT AVG(price) FROM bid [RANGE 1 HOUR]);
CREATE QUERY scalar_in_list AS SELECT id, (SELECT MAX(price) FROM bid) - price AS below FROM item;
CREATE QUERY scalar_above_groups AS SELECT auction, SUM(price) / (SELECT SUM(price) FROM sale) FROM bid GROUP BY auction;
CREATE QUERY scalar_in_exists AS SELECT id FROM item i WHERE EXISTS (
  SELECT * FROM bid b WHERE b.auction = i.id AND b.price > (SELECT MAX(price) FROM sale));

CREATE QUERY union_of_sets AS SELECT auction FROM bid UNION SELECT id FROM item;
CREATE QUERY union_all AS SELECT auction, bidder FROM bid UNION ALL SELECT id, price FROM item;
CREATE QUERY except_of_sets AS SELECT auction FROM bid EXCEPT SELECT id FROM item;
CREATE QUERY minus_all AS SELECT auction FROM bid MINUS ALL SELECT id FROM item;
CREATE QUERY intersect_of_bags AS SELECT auction FROM bid INTERSECT ALL SELECT id FROM item;
CREATE QUERY set_operations AS SELECT auction FROM bid UNION ALL (SELECT id FROM item EXCEPT SELECT item FROM sale);
CREATE QUERY intersect_binds_more AS SELECT auction FROM bid UNION SELECT id FROM item INTERSECT SELECT item FROM sale;
CREATE QUERY union_of_null AS SELECT auction, NULL AS note FROM bid UNION ALL SELECT id, name FROM item;
CREATE QUERY distinct_over_union AS SELECT DISTINCT q.x FROM (SELECT auction AS x FROM bid UNION ALL SELECT id FROM item) q;

CREATE QUERY comparisons AS SELECT price FROM bid WHERE price = 1 OR price <> 2 OR price != 3 OR price <=> 4 OR rate <= 5;
CREATE QUERY null_tests AS SELECT price FROM bid WHERE kind IS NULL AND price IS NOT NULL AND big IS NOT TRUE;
CREATE QUERY distinct_tests AS SELECT price FROM bid WHERE price IS DISTINCT FROM bidder AND big IS NOT DISTINCT FROM NULL;
CREATE QUERY ranges AS SELECT price FROM bid WHERE price BETWEEN 1 AND 5 AND rate NOT BETWEEN 0.5 AND 1;
CREATE QUERY in_list AS SELECT price FROM bid WHERE price IN (1, bidder, 2.5) AND kind NOT IN ('a', 'b') AND bidder IN (1);
CREATE QUERY likes AS SELECT price FROM bid WHERE kind LIKE 'a%' AND kind NOT LIKE '_!%' ESCAPE '!' AND kind ILIKE 'B_';
CREATE QUERY logic AS SELECT price FROM bid WHERE NOT (big AND price > 5) OR (big OR rate < 1) AND NULL;
CREATE QUERY arithmetic AS SELECT bidder + 1, price * bidder, price / 7, price % 7, rate / 2, amount * 1.5, -price FROM bid;
CREATE QUERY more_arithmetic AS SELECT price DIV 3, MOD(price, 3), amount + price, amount / 3, - -5, bidder - -1 FROM bid;
CREATE QUERY numbers AS SELECT 1, 3000000000, 1.50, 1e3, .5, 99999999999999999999, -9223372036854775808, 7L FROM bid;
CREATE QUERY strings AS SELECT 'it''s', "double", 'a' 'b', kind || '-' || kind, 'tab\t', X'1Fa' FROM bid;
CREATE QUERY times AS SELECT price FROM bid x WHERE ts > '2026-01-31' AND ts < TIMESTAMP '2026-01-31 12:00:00+01:00'
  AND day = DATE '2026-01-31' AND day < ts AND ts - INTERVAL 1 HOUR > ts - (ts - ts) AND ts - ts < INTERVAL '5' SECOND * 2;
CREATE QUERY choices AS SELECT CASE WHEN price > 5 THEN 'a' WHEN big THEN kind END, CASE kind WHEN 'a' THEN 1 ELSE 2.5 END,
  IF(big, price, NULL), COALESCE(kind, 'none'), NULLIF(price, 0), GREATEST(price, bidder, 7), NVL(rate, 0) FROM bid;
CREATE QUERY casts AS SELECT CAST(price AS STRING), CAST(kind AS BIGINT), price :: DOUBLE, TRY_CAST(kind AS DATE),
  CAST('2026-01-31' AS TIMESTAMP), CAST(NULL AS BINARY), CAST(rate AS DECIMAL(5, 1)), CAST(bidder AS BIGINT) FROM bid;
CREATE QUERY functions AS SELECT ABS(price), CEILING(rate), FLOOR(amount), ROUND(rate, 1), SQRT(price), POW(rate, 2),
  UPPER(kind), TRIM(kind), LENGTH(kind), SUBSTR(kind, 2), REPLACE(kind, 'a', ''), CONTAINS(kind, 'a'), LENGTH(raw) FROM bid;
CREATE QUERY time_functions AS SELECT UNIX_MICROS(ts), UNIX_SECONDS(ts), TIMESTAMP_MILLIS(price), DATE_TRUNC('hour', ts),
  YEAR(ts), MONTH(day), EXTRACT(HOUR FROM ts), DATE(ts), DATE_TRUNC('week', day) FROM bid;
CREATE QUERY positions AS SELECT POSITION('a' IN kind), POSITION('a', kind), LOCATE('a', kind), INSTR(kind, 'a') FROM bid;
CREATE QUERY quoted AS SELECT `b`.`price` AS `the price` FROM `bid` AS `b`;
CREATE QUERY a_column_named_istream AS SELECT istream, istream + 1 AS more FROM (SELECT price AS istream FROM bid) AS q;
