-- refused: an assertion has no subquery
-- hint: THEN EXISTS stream variable WHERE ... is about other rows
-- at: 5:50
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE ASSERTION most FOR bid x THEN x.price <= (SELECT MAX(price) FROM bid);
