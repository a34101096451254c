-- refused: this is not a regular expression: there is no (?=
-- hint: literals, [classes], groups, alternatives, * + ? {n,m}, ^ $ . and \d \w \s \b are
-- at: 6:23
CREATE STREAM a (id BIGINT, x BIGINT, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT s FROM a WHERE s RLIKE 'a(?=b)';
