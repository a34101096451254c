-- refused: FOREIGN KEY needs WITHIN or INFERRED
-- hint: write WITHIN n ROWS, WITHIN t SECONDS, or INFERRED; WITHIN 0 ROWS if the parent always comes first
-- at: 5:50
CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, ts TIMESTAMP, FOREIGN KEY (auction) REFERENCES item (id)) TIMESTAMP BY ts;
