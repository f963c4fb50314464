#!/bin/sh
# A database in memory: lookups of new rows, and every few seconds a report over all
cd "$(dirname "$0")" && exec sqlite3 :memory: ".read sqlite-report.sql"
