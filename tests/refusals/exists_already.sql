-- refused: bid is there already
-- hint: write CREATE OR REPLACE, or DROP it first
-- at: 5:14
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE TABLE bid (id BIGINT);
