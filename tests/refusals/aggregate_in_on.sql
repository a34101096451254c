-- refused: ON joins rows and has no aggregate: MAX
-- hint: aggregate in a subquery of FROM, and join that
-- at: 6:58
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT id FROM bid b JOIN item i ON b.auction = i.id AND MAX(b.price) > 10;
