#!/usr/bin/env python3
"""An agent in Python, json dialect: the SHA-256 of a file, and no death on a bad one.

Configure it with type: checksum. Try it: echo '{"id":1,"args":"/etc/services"}' | agents/examples/checksum.py
"""
import hashlib
import json
import sys


def say(**what):
    print(json.dumps(what), flush=True)


say(bellhop=1, type="checksum")
for line in sys.stdin:
    job = json.loads(line)
    path = (job.get("item") or {}).get("path") or job["args"]
    try:
        with open(path or "", "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
    except OSError as e:
        say(fail=str(e), exit_code=1, id=job["id"])
        continue
    say(result={"path": path, "sha256": digest})
    say(ok=True, id=job["id"])
