#!/bin/sh
# Notes in Python: a few are read, and now and then garbage collection visits all
cd "$(dirname "$0")" && exec python3 python-collect.py
