#!/bin/sh
# A shop's database in memory: lookups of new sales, and every ten seconds a report by customer
cd "$(dirname "$0")" && exec python3 sqlite-report.py
