#!/bin/sh
# A shop's database in memory: lookups of new sales, and every 13 seconds a report over all
cd "$(dirname "$0")" && exec python3 sqlite-report.py
