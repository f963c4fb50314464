# What sqlite-report.sh runs: new sales are looked up all the time, a report goes through all
# of the year's every 13 seconds, and those of the years before are never asked for.
import os
import random
import sqlite3
import time

ARCHIVE, SALES, NEW = 350_000, 700_000, 20_000

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
print(ARCHIVE, "old sales,", SALES, "sales", flush=True)
begun = time.monotonic()
for report in range(2):
    begin = time.monotonic()
    found = 0
    # 20,000 lookups a second, for 13 seconds.
    for turn in range(1300):
        for i in range(200):
            sale = SALES - (turn * 200 + i) * 7919 % NEW
            found += shop.execute("SELECT note FROM sale WHERE id = ?", (sale,)).fetchone()[0] > b"n"
        time.sleep(max(0.0, begin + (turn + 1) / 100 - time.monotonic()))
    total = shop.execute("SELECT sum(customer), sum(length(note)) FROM sale").fetchone()
    print("report", report, found, *total, flush=True)
print(f"worked {time.monotonic() - begun:.3f}", flush=True)
# Without giving back every row one by one.
os._exit(0)
