-- item: 20 rows, from 2024-05-06 10:00:00 to 2024-05-06 10:19:00
CREATE STREAM item (
  id BIGINT NOT NULL,
  ts TIMESTAMP,
  UNIQUE (id),
  ORDERED BY id WITHIN 0 ROWS,
  FOREIGN KEY (id) REFERENCES bid (auction) WITHIN 5 ROWS,  -- 2 ROWS seen
  FOREIGN KEY (id) REFERENCES bid (auction) WITHIN 1 MINUTE -- 31 SECONDS seen
) TIMESTAMP BY ts
USING csv OPTIONS (path 'item.csv', header 'true');

-- bid: 40 rows, from 2024-05-06 10:00:30 to 2024-05-06 10:19:31
CREATE STREAM bid (
  auction BIGINT NOT NULL,
  price BIGINT NOT NULL,
  at TIMESTAMP,
  ORDERED BY auction WITHIN 0 ROWS,
  CLUSTERED BY (auction) WITHIN 0 ROWS,
  CLUSTERED BY (auction) WITHIN 2 SECONDS, -- 1 SECOND seen
  FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 ROWS
) TIMESTAMP BY at
USING csv OPTIONS (path 'bid.csv', header 'true');
