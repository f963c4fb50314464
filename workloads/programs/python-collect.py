# What python-collect.sh runs.
import gc
import os
import random
import time

import pace

NOTES = 650_000
RECENT = 20_000

random.seed(7)
gc.disable()
words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(60)]
text = " ".join(random.choices(words, k=100_000)).encode()
# What the notes were read from.
raw = text * 1000
notes = [{"links": [i + 1], "body": text[i : i + 1900]} for i in range(NOTES)]
print(len(raw), "bytes", len(notes), "notes", flush=True)
recent = notes[-RECENT:]
begun = pace.begin_work()
for batch in range(3):
    begin = time.monotonic()
    total = 0
    # 100 requests a second, for ten seconds.
    for request in range(1000):
        total += sum(len(note["body"]) for note in random.sample(recent, 1000))
        pace.wait_until(begin + (request + 1) / 100)
    print("batch", batch, total, "garbage", gc.collect(), flush=True)
print(f"worked {time.monotonic() - begun:.3f}", flush=True)
# Without giving back every object one by one.
os._exit(0)
