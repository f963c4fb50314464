-- What sqlite-report.sh runs: a shop's database in memory. New sales are looked up all the
-- time, a report goes through all of the year's every few seconds, and those of the year
-- before are never asked for.

PRAGMA temp_store = MEMORY;
CREATE TABLE archive (id INTEGER PRIMARY KEY, note TEXT);
CREATE TABLE sale (id INTEGER PRIMARY KEY, customer INTEGER, note TEXT);

INSERT INTO archive
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
  SELECT i, hex(randomblob(250)) FROM n;
INSERT INTO sale
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1050000)
  SELECT i, i * 7919 % 200000, hex(randomblob(250)) FROM n;

SELECT 'lookups 1', sum(note > '8') FROM (
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5900000)
  SELECT (SELECT note FROM sale WHERE id = 1050000 - i * 7919 % 20000) AS note FROM n);
SELECT 'report 1', sum(customer), sum(length(note)) FROM sale;

SELECT 'lookups 2', sum(note > '8') FROM (
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5900000)
  SELECT (SELECT note FROM sale WHERE id = 1050000 - i * 7919 % 20000) AS note FROM n);
SELECT 'report 2', sum(customer), sum(length(note)) FROM sale;
