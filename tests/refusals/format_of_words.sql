-- refused: a format of times stands in quotes, such as 'yyyy-MM-dd HH:mm:ss'
-- hint: letters are yyyy, yy, MM, M, dd, d, HH, H, mm, m, ss, s and S for digits of the second's fraction; other text is in quotes
-- at: 6:8
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT DATE_FORMAT(ts, 'EEEE') FROM a;
