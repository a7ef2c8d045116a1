#!/usr/bin/env python3
"""An agent in Python, for bellhop's json dialect. It needs nothing but Python 3.8.

    bellhop agent check ./agent.py               # keeps it to the protocol? No database is needed
    bellhop agent try ./agent.py 'some words'    # one line, and all that is said

In bellhop.yaml:

    agents:
      - {type: TYPE, command: [./agent.py]}

The part to change is work(). What is below it is the protocol.
"""
import json
import os
import queue
import signal
import sys
import threading
import traceback


def work(job):
    """Does one job. What it returns is the job's result; None is none."""
    words = job.text().split()
    for n, word in enumerate(words):
        if word == "later":
            raise Snooze("10m")  # not now: again in ten minutes, and that is no attempt
        if word == "bad":
            raise Fail("bad input", retry=False)  # another try would give the same; retry="10m": not sooner
        if word == "slow":
            job.pause(30)  # raises Stopped when the job is cancelled
        job.log(f"word {n + 1}: {word}")  # kept with the job: bellhop logs ID
        job.progress((n + 1) / len(words), word)  # bellhop ls, show, top
    return {"words": len(words)}  # bellhop wait ID; select result from bellhop.wait(ID)


class Fail(Exception):
    """Fails the attempt; the process goes on. So does any other exception."""

    def __init__(self, reason, exit_code=1, retry=None):
        super().__init__(reason)
        self.exit_code, self.retry = exit_code, retry


class Snooze(Exception):
    """Puts the job off: "90s", "10m", "1h30m", or a number of seconds."""


class Stopped(Exception):
    """The job was cancelled, or its scheduler ends. Soon after, the process is killed."""


class Job:
    def __init__(self, line):
        self.id, self.attempt, self.fence = line["id"], line["attempt"], line["fence"]
        self.args = line.get("args")  # the job's one line, or None
        self.item = line.get("item")  # the columns of an item of a query, all strings; else None
        self.vars = line.get("vars") or {}
        self.key = line.get("key")
        self.traceparent = line.get("traceparent")  # the W3C trace context of this run, or None

    def text(self):
        return " ".join(self.item.values()) if self.item is not None else self.args or ""

    def log(self, text, level="info"):  # or debug, or error
        say(log=text, level=level)

    def progress(self, done, text=""):  # from 0 to 1; written once a second at the most
        self.check()
        say(progress={"done": done, "text": text})

    def check(self):
        """Raises Stopped when the job is to stop. Call it now and then in long work."""
        if stopping.is_set():
            raise Stopped

    def pause(self, seconds):
        if stopping.wait(seconds):
            raise Stopped


stopping = threading.Event()
jobs = queue.Queue()
voice = threading.Lock()
stdout = sys.stdout
sys.stdout = sys.stderr  # stdout is the protocol's: what is printed is kept with the job


def say(**message):
    with voice:
        stdout.write(json.dumps(message) + "\n")
        stdout.flush()  # a pipe is no terminal


def read():
    """Reads on while a job runs, so that the end of stdin is noticed: it means stop."""
    for line in sys.stdin.buffer:
        jobs.put(json.loads(line))
    stop()


def stop():
    stopping.set()
    jobs.put(None)


def do(job):
    # What the job starts finds its trace. With OpenTelemetry in this process:
    # opentelemetry.propagate.extract({"traceparent": job.traceparent}) is the parent of your spans.
    if job.traceparent:
        os.environ["TRACEPARENT"] = job.traceparent
    else:
        os.environ.pop("TRACEPARENT", None)
    try:
        result = work(job)
        if result is not None:
            say(result=result)
        say(ok=True)
    except Stopped:
        job.log("stopped")
    except Snooze as e:
        say(snooze=e.args[0])
    except Fail as e:
        wish = {} if e.retry is None else {"retry": e.retry}
        say(fail=str(e) or "failed", exit_code=e.exit_code, **wish)
    except Exception as e:  # it fails this job, and no other
        job.log(traceback.format_exc(), "error")
        say(fail=f"{type(e).__name__}: {e}", exit_code=1)


def main():
    # The end of stdin, which comes with SIGHUP, says the same. A handler runs in between two steps of whatever is at
    # work, which may hold the very lock that stop() would wait for.
    signal.signal(signal.SIGHUP, lambda *_: None)
    say(bellhop=1, type="TYPE")
    threading.Thread(target=read, daemon=True).start()
    while not stopping.is_set():
        line = jobs.get()
        if line is not None:
            do(Job(line))
    os._exit(0)  # the thread that reads stdin may never come back


main()
