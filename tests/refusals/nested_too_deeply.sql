-- refused: this is nested too deeply
-- hint: split it with views
-- at: 5:40
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT ((((((((((((((((((((((((((((((((((((((((price)))))))))))))))))))))))))))))))))))))))) AS x FROM bid;
