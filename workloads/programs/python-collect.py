# What python-collect.sh runs.
import gc
import os
import random
import time

NOTES = 1_300_000
RECENT = 20_000

random.seed(7)
gc.disable()
# What the notes were read from.
raw = random.randbytes(1 << 20) * 150
notes = [{"id": i, "links": [i + 1], "title": str(i)} for i in range(NOTES)]
print(len(raw), "bytes", len(notes), "notes", flush=True)
recent = notes[-RECENT:]
for batch in range(2):
    begin = time.monotonic()
    total = 0
    # 100 requests a second, for six seconds and a half.
    for request in range(650):
        total += sum(note["links"][0] for note in random.sample(recent, 1000))
        time.sleep(max(0.0, begin + (request + 1) / 100 - time.monotonic()))
    print("batch", batch, total, "garbage", gc.collect(), flush=True)
# Without giving back every object one by one.
os._exit(0)
