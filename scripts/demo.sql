-- What the demo watches: a shop's database, held in memory, some 350 MiB of it.
-- It is filled, gets an index, and is asked for new sales, for everything, and for
-- sales of a year ago. Each step says when it began.

PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE start AS SELECT julianday('now') AS at;
CREATE TEMP VIEW clock AS
  SELECT printf('  %4.1f s  ', (julianday('now') - at) * 86400) AS now FROM start;

CREATE TABLE sale (id INTEGER PRIMARY KEY, customer INTEGER, day INTEGER, note TEXT);

SELECT now || 'load 3,000,000 sales' FROM clock;
INSERT INTO sale
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000)
  SELECT i, abs(random()) % 200000, i / 4000, hex(randomblob(24)) FROM n;

SELECT now || 'build an index of customers' FROM clock;
CREATE INDEX sale_customer ON sale (customer);

SELECT now || 'look up new sales, 3,000,000 times' FROM clock;
CREATE TEMP TABLE sink AS
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000)
  SELECT sum((SELECT day FROM sale WHERE id = 3000000 - i * 7919 % 350000)) FROM n;

SELECT now || 'sum up all sales of half the customers' FROM clock;
INSERT INTO sink
  SELECT max(length) FROM (
    SELECT sum(length(note)) AS length FROM sale WHERE customer < 100000 GROUP BY customer);

SELECT now || 'look up sales of a year ago, 3,000,000 times' FROM clock;
INSERT INTO sink
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000)
  SELECT sum((SELECT day FROM sale WHERE id = 1000000 + i * 7919 % 250000)) FROM n;

SELECT now || 'done' FROM clock;
