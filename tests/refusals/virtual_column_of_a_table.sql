-- refused: only a stream has virtual columns
-- at: 3:20
CREATE TABLE host (VIRTUAL id BIGINT, ip STRING);
