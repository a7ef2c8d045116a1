#!/usr/bin/env python3
"""An agent in Python, classic dialect: counts the words of a file.

Try it: echo /etc/services | agents/examples/words.py
"""
import sys

print("OK", flush=True)  # ready for the first line
for line in sys.stdin:
    path = line.rstrip("\n")
    try:
        with open(path, errors="replace") as f:
            count = sum(len(text.split()) for text in f)
    except OSError as e:
        print(f"ERROR {e}", flush=True)
        sys.exit(1)  # in this dialect a failing agent dies
    print(f"LOG {path}: {count} words")
    print("OK", flush=True)  # done, and ready for the next
