# What sqlite-report.sh runs: new sales are looked up all the time, a report goes through all
# of the year's, by customer, every ten seconds, and those of the years before are never asked for.
import os
import random
import sqlite3
import time

import pace

ARCHIVE, SALES, NEW = 350_000, 650_000, 20_000

random.seed(7)
words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(60)]
notes = " ".join(random.choices(words, k=100_000)).encode()
shop = sqlite3.connect(":memory:")
for table, rows in ("archive", ARCHIVE), ("sale", SALES):
    shop.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, customer INTEGER, note BLOB)")
    shop.execute(
        f"""INSERT INTO {table}
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
            SELECT i, i * 7919 % 200000, substr(?, i * 7919 % 800000, 1900) FROM n""",
        (notes,),
    )
shop.execute("CREATE INDEX by_customer ON sale (customer)")
print(ARCHIVE, "old sales,", SALES, "sales", flush=True)
begun = pace.begin_work()
for report in range(3):
    begin = time.monotonic()
    found = 0
    # 20,000 lookups a second, for eight seconds.
    for turn in range(800):
        for i in range(200):
            sale = SALES - (turn * 200 + i) * 7919 % NEW
            found += shop.execute("SELECT note FROM sale WHERE id = ?", (sale,)).fetchone()[0] > b"n"
        pace.wait_until(begin + (turn + 1) / 100)
    by_customer = "SELECT customer, sum(length(note)) FROM sale GROUP BY customer"
    customers = len(shop.execute(by_customer).fetchall())
    print("report", report, found, customers, "customers", flush=True)
print(f"worked {time.monotonic() - begun:.3f}", flush=True)
# Without giving back every row one by one.
os._exit(0)
