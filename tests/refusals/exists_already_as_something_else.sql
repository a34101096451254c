-- refused: bid is there already, and is a stream
-- hint: choose another name
-- at: 5:28
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE TABLE IF NOT EXISTS bid (id BIGINT);
