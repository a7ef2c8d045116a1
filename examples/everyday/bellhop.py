"""bellhop for apps in Python: put this file beside yours. It needs psycopg 3.

    import bellhop, psycopg
    conn = psycopg.connect(url, autocommit=True)
    with conn.transaction():                 # the job exists if, and only if, this commits
        conn.execute("insert into orders …")
        id = bellhop.submit(conn, "invoice", {"order": 42}, key="invoice.42")
    job = bellhop.wait(conn, id, timeout=60)
    print(job.state, job.result)

A worker does jobs, without an agent or an instance of bellhop:

    def invoice(job):                        # job.args, job.vars, job.attempt, job.renew(), job.conn
        with job.conn.transaction():         # the rows and the outcome: both, or neither
            job.conn.execute("insert into invoices …")
            job.finish({"pages": 2})
    bellhop.work(conn, {"invoice": invoice}, concurrency=4)  # until SIGTERM

With keys (`bellhop key new app.keys`) the database never has args and vars in plain text:

    keys = bellhop.Keys("app.keys")          # it needs the package cryptography
    bellhop.submit(conn, "invoice", {"order": 42}, keys=keys)
    bellhop.work(conn, {"invoice": invoice}, keys=keys)

All of it is SQL that you may write yourself. Rights are the login's: grant it bellhop_submitter to submit, and
bellhop_worker to work, with its types in bellhop.worker_type.
"""
import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import select
import signal
import threading
import time
from typing import Any, NamedTuple, Optional

# What a job may be given: the arguments of bellhop.submit, and their types.
COLUMNS = {
    "type": "text", "args": "text", "msq": "text", "repeat": "text", "run_on": "text", "key": "text",
    "share": "text", "priority": "integer", "priority_name": "text", "run_at": "timestamptz", "held": "boolean",
    "vars": "jsonb", "locks": "text[]", "reasons": "text[]", "max_attempts": "integer", "timeout": "interval",
    "on_failure": "text", "traceparent": "text", "after": "bigint[]", "after_keys": "text[]", "wanted": "text[]",
    "once": "text", "per": "interval", "replace": "boolean", "not_after": "timestamptz", "batch": "bigint"
}
FINAL = ("succeeded", "failed", "cancelled", "quarantined")


class Job(NamedTuple):
    id: int
    state: str
    progress: Optional[float]  # from 0 to 1
    progress_text: Optional[str]
    result: Any  # what the agent gave back
    exit_code: Optional[int]
    error: Optional[str]
    waiting_for: Optional[str]


class NotFound(Exception):
    pass


class NoKey(Exception):
    """A text is sealed with a key that is not here: its id is in key."""

    def __init__(self, key):
        super().__init__(f"sealed with key {key}, which is not here")
        self.key = key


class Keys:
    """The keys of a file, as `bellhop key new` makes it: the first one seals, each of them opens. A place is args,
    vars.NAME, item.COLUMN, result or steps.NAME: a text is sealed for a type and a place, and opens there alone."""

    def __init__(self, file):
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: F401
        except ImportError:
            raise ImportError("keys need the package cryptography: pip install cryptography (Debian: python3-cryptography)")
        with open(file, encoding="utf-8") as f:
            words = [line.split() for line in f if line.strip() and not line.lstrip().startswith("#")]
        self._keys = {}
        for line in words:
            if not re.fullmatch("[A-Za-z0-9._-]{1,64} [A-Za-z0-9+/]{43}=", " ".join(line)) or line[0] in self._keys:
                raise ValueError(f"{file}: each line is KEYID BASE64, as bellhop key new writes it, and each id is there once")
            self._keys[line[0]] = base64.b64decode(line[1])
        if not self._keys:
            raise ValueError(f"{file}: there is no key; make one: bellhop key new FILE")

    def seal(self, type, place, text, again=None):
        """The envelope of a text. Two of one text differ, unless again names the key of a job that may come again."""
        if text.startswith("bellhop:sealed:") or "\0" in text or place == "args" and re.search("[\r\n]", text):
            raise ValueError(f"{place} is sealed already, or has a zero byte or a line break: write that as JSON does (\\n)")
        if len(text.encode()) > 16 << 20:
            raise ValueError(f"{place} has more than 16 MiB: put it where the agent can fetch it, and give its place")
        id, salt = next(iter(self._keys)), os.urandom(24)
        if again is not None:
            drawn = _drawn(self._keys[id], None, b"bellhop sealed 1 repeat", 32)
            salt = hmac.digest(drawn, f"{again}\0{type}\0{place}\0{text}".encode(), hashlib.sha256)[:24]
        aes, nonce = _cipher(self._keys[id], salt)
        head = f"bellhop:sealed:1:{id}"
        body = salt + aes.encrypt(nonce, text.encode(), f"{head}\0{type}\0{place}".encode())
        return f"{head}:{base64.b64encode(body).decode()}"

    def open(self, type, place, text):
        """The text of an envelope; any other text is given as it is. NoKey; ValueError when it cannot be opened."""
        if text is None or not text.startswith("bellhop:sealed:"):
            return text
        m = re.fullmatch("bellhop:sealed:([A-Za-z0-9._-]{1,64}):([A-Za-z0-9._-]{1,64}):([A-Za-z0-9+/=]*)", text)
        if m and (m[1] != "1" or m[2] not in self._keys):
            raise NoKey(m[2])
        try:
            body = base64.b64decode(m[3], validate=True)
            aes, nonce = _cipher(self._keys[m[2]], body[:24])
            return aes.decrypt(nonce, body[24:], f"bellhop:sealed:1:{m[2]}\0{type}\0{place}".encode()).decode()
        except Exception:  # InvalidTag, a short text: which of them tells nothing
            raise ValueError("it cannot be opened: it was sealed for another type or place, or changed since") from None

    def seal_job(self, type, args, vars, plain=(), again=None):
        """The args (a text, or what becomes JSON) and the vars of a job, sealed but for the vars that plain names."""
        if args is not None:
            args = self.seal(type, "args", args if isinstance(args, str) else json.dumps(args), again)
        for name in plain:
            if name not in (vars or {}):
                raise ValueError(f"var {name} is to stay plain, and the job has no such var")
        if vars is not None:
            vars = {n: v if n in plain else self.seal(type, "vars." + n, v, again) for n, v in vars.items()}
        return args, vars


NO_KEYS = Keys.__new__(Keys)
NO_KEYS._keys = {}


def _drawn(key, salt, info, length):
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    return HKDF(SHA256(), length, salt, info).derive(key)


def _cipher(key, salt):
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    drawn = _drawn(key, salt, b"bellhop sealed 1", 44)
    return AESGCM(drawn[:32]), drawn[32:]


def submit(conn, type, args=None, keys=None, plain=(), **columns):
    """Gives the id. args is one line of text, or what becomes JSON. Columns are those of COLUMNS. With keys the database
    has args and vars sealed, but for the vars that plain names."""
    if keys is not None:
        if columns.get("msq") is not None:
            raise ValueError("a query cannot be sealed: it runs in the database; submit it without keys")
        again = columns.get("key") if columns.get("once", "ever") == "ever" else None
        args, columns["vars"] = keys.seal_job(type, args, columns.get("vars"), plain, again)
    elif plain:
        raise ValueError("plain names vars that stay plain, and there are no keys")
    if args is not None and not isinstance(args, str):
        args = json.dumps(args)
    if columns.get("vars") is not None:
        columns["vars"] = json.dumps(columns["vars"])
    given = {"type": type, "args": args, **columns}
    for name in given:
        if name not in COLUMNS:
            raise ValueError(f"a job has no column {name!r}; it has {', '.join(COLUMNS)}")
    call = ", ".join(f"{name} => %({name})s::{COLUMNS[name]}" for name in given)
    return conn.execute(f"select bellhop.submit({call})", given).fetchone()[0]


def look(conn, id):
    row = conn.execute("select id, state, progress, progress_text, result, exit_code, error, waiting_for"
                       " from bellhop.job where id = %s", [id]).fetchone()
    if row is None:
        raise NotFound(f"there is no job {id}, or none that this login may see")
    return Job(*row)


def watch(conn, id, timeout=None):
    """Yields the job whenever something has changed, until it is over, or for so many seconds. Not in a transaction."""
    until, last = None if timeout is None else time.monotonic() + timeout, None
    while True:
        job = look(conn, id)
        if job != last:
            yield job
        left = 1 if until is None else min(1, until - time.monotonic())
        if job.state in FINAL or left <= 0:
            return
        last = job
        conn.execute("select bellhop.wait(%s, make_interval(secs => %s))", [id, left])  # comes back when it is over


def wait(conn, id, timeout=None):
    """Waits until the job is over, or for so many seconds: its state tells."""
    for job in watch(conn, id, timeout):
        pass
    return job


def cancel(conn, id, now=False):
    """Gives the state that the job has now: one that runs is cancelled when its processes are gone."""
    return conn.execute("select bellhop.cancel(%s, %s)", [id, now]).fetchone()[0]


def retry(conn, id):
    return conn.execute("select bellhop.retry(%s)", [id]).fetchone()[0]


def retry_all(conn, type=None, states=("failed", "quarantined")):
    """Retries all that this login may, a thousand a transaction, and gives how many."""
    return _sweep(conn, "retry", type, states)


def cancel_all(conn, type=None, states=("held", "blocked", "scheduled", "ready", "assigned", "running")):
    return _sweep(conn, "cancel", type, states)


def _sweep(conn, order, type, states):
    behind, count = 0, 0
    while True:
        rows = conn.execute(
            f"select id, bellhop.{order}(id) from (select id from bellhop.job j where id > %s and state = any (%s)"
            " and (%s::text is null or type = %s) and bellhop.may_change(submitted_by) order by id limit 1000) j",
            [behind, list(states), type, type]).fetchall()
        if not rows:
            return count
        behind, count = max(id for id, _ in rows), count + len(rows)


class Rest(BaseException):
    """Ends a handler whose job sleeps, or awaits an event: the next run goes on from there."""


class Run:
    """A job that this worker has, for its handler. cancelled is set when the job is to stop, or is lost."""

    def __init__(self, conn, row, lease, keys=None):
        self.id, self.fence, self.attempt, self.type, self.args, self.key, self.vars, self.deadline, steps = row
        self.steps, self._calls, self.keys = steps or {}, {}, keys
        self.conn, self.lease, self.ended, self.cancelled = conn, lease, False, threading.Event()

    def _open(self):
        keys = self.keys or NO_KEYS
        self.vars = self.vars and {name: keys.open(self.type, "vars." + name, text) for name, text in self.vars.items()}
        self.args = keys.open(self.type, "args", self.args)
        with contextlib.suppress(ValueError):  # a line of text
            self.args = json.loads(self.args) if self.args is not None else None

    def finish(self, result=None):
        """The job has succeeded, if the transaction commits."""
        self._end("select bellhop.finish(%s, %s, %s)", None if result is None else json.dumps(result))

    def fail(self, error, retry=None):
        """The attempt has failed: again after so many seconds, or as the type says; below 0: never again."""
        text = str(error)[:9000].replace("\0", "\ufffd").encode(errors="replace").decode()  # what PostgreSQL takes
        self._end("select bellhop.fail(%s, %s, %s, make_interval(secs => %s))", text, retry)

    def _end(self, call, *args):
        self.conn.execute(call, [self.id, self.fence, *args])
        self.ended = True

    def step(self, name, do):
        """What do() gives, as JSON: once. Later runs get it from the first; its rows and the step are one transaction."""
        if name not in self.steps:
            with self.conn.transaction():
                said = json.dumps(do())
                self.conn.execute("select bellhop.save_step(%s, %s, %s, %s)", [self.id, self.fence, name, said])
            self.steps[name] = json.loads(said)
        return self.steps[name]

    def sleep(self, seconds):
        """This run ends, and the next one goes on from here after so many seconds."""
        if f"sleep.{self._call('sleep')}" not in self.steps:
            self._rest("select bellhop.sleep(%s, %s, make_interval(secs => %s))", seconds)
            raise Rest

    def children(self, *jobs):
        """Makes jobs, such as {"type": "resize", "args": "1.jpg"}; how each has ended, in a later run. A worker with keys
        seals their args and vars, but for the vars that the job's plain names."""
        if not jobs:
            return []
        if self.keys is not None:
            jobs = [dict(job) for job in jobs]
            for job in jobs:
                sealed = self.keys.seal_job(job["type"], job.get("args"), job.get("vars"), job.pop("plain", ()))
                job.update({name: value for name, value in zip(("args", "vars"), sealed) if value is not None})
        name = f"children.{self._call('children')}"
        if name not in self.steps:
            self._rest("select bellhop.children(%s, %s, %s)", json.dumps(jobs))
            raise Rest
        return self.steps[name]

    def wait_for(self, event, timeout=None):
        """The event's payload, perhaps in a later run; TimeoutError when it has not come in so many seconds."""
        kept, n = self.steps.get("event." + event, {}), self._call(event)
        if "payload" not in kept and kept.get("timed_out", 0) >= n:
            raise TimeoutError(f"event {event} has not come")
        if "payload" not in kept:
            came, payload = self._rest("select * from bellhop.await_event(%s, %s, %s, make_interval(secs => %s))", event, timeout)
            if not came:
                raise Rest
            kept = self.steps["event." + event] = {"payload": payload}
        return kept["payload"]

    def _call(self, of):
        self._calls[of] = self._calls.get(of, 0) + 1
        return self._calls[of]

    def _rest(self, sql, *args):
        if self.conn.info.transaction_status != 0:  # which the end of the run would roll back
            raise RuntimeError("a job sleeps, and waits for events, outside of a transaction")
        return self.conn.execute(sql, [self.id, self.fence, *args]).fetchone()

    def renew(self, conn=None, progress=None, text=None):
        sql = "select cancel from bellhop.renew(%s, %s, make_interval(secs => %s), %s::real, %s)"
        if (conn or self.conn).execute(sql, [self.id, self.fence, self.lease, progress, text]).fetchone()[0]:
            self.cancelled.set()


def work(url, handlers, concurrency=1, lease=60, stop=None, keys=None):
    """Does jobs of these types until stop is set (without one: until SIGTERM or SIGINT), then ends those that run. Its
    connections are its own, to the url or as the given one. A job whose key is not in keys waits, without an attempt."""
    import psycopg
    if not isinstance(url, str):
        url = psycopg.conninfo.make_conninfo(url.info.dsn, password=url.info.password)
    before = [] if stop else [(s, signal.signal(s, lambda *_: stop.set())) for s in (signal.SIGTERM, signal.SIGINT)]
    runs, stop, done = set(), stop or threading.Event(), threading.Event()
    take = "select id, fence, attempt, type, args, key, vars, deadline, steps from bellhop.take(%s, 1, %s * interval '1 s')"

    def one():
        while not stop.is_set():
            try:
                with psycopg.connect(url, autocommit=True) as conn:
                    conn.execute("listen bellhop_work")
                    while not stop.is_set():
                        row = conn.execute(take, [list(handlers), lease]).fetchone()
                        if row is None:
                            select.select([conn.fileno()], [], [], 1)  # until it rings, or for a second
                        else:
                            run(Run(conn, row, lease, keys))
            except Exception as e:  # the server is away, or refuses: a lease ends, and its job is done again
                print(f"bellhop: {e}", flush=True)
                stop.wait(1)

    def run(job):
        runs.add(job)
        try:
            job._open()
            handlers[job.type](job)
            if job.conn.info.transaction_status != 0:  # all that follows would be in it
                raise RuntimeError("the handler has left a transaction open")
            if not job.ended:
                job.finish()
        except BaseException as e:  # SystemExit too: it would end this thread, and nothing else
            job.conn.rollback()  # of a lost connection: an error, and one() makes another
            if isinstance(e, NoKey):
                job.conn.execute("select bellhop.lacks_key(%s, %s, %s)", [job.id, job.fence, e.key])
            elif not isinstance(e, Rest) and getattr(e, "sqlstate", None) != "BH004":  # another run has it by now
                job.fail(f"{type(e).__name__}: {e}")
        finally:
            runs.remove(job)

    def renew():
        while not done.is_set():
            try:
                with psycopg.connect(url, autocommit=True) as conn:
                    conn.execute("set lock_timeout = '1 s'")  # a handler that has locked its job's row delays no other
                    while True:  # at once: the connection before may have broken when the leases were half over
                        for e in filter(None, [renewed(job, conn) for job in list(runs)]):
                            raise e
                        if done.wait(lease / 3):
                            return
            except Exception as e:
                print(f"bellhop: {e}", flush=True)
                done.wait(min(1, lease / 3))

    def renewed(job, conn):
        try:
            job.renew(conn)
        except psycopg.Error as e:
            if e.sqlstate == "BH004":
                job.cancelled.set()
            elif e.sqlstate != "55P03":
                return e

    threads = [threading.Thread(target=one) for _ in range(concurrency)]
    for t in (threading.Thread(target=renew, daemon=True), *threads):
        t.start()
    try:
        stop.wait()
    finally:  # also of a Ctrl-C, where stop is the caller's
        stop.set()
        for t in threads:
            t.join()
        done.set()
        for s, was in before:
            signal.signal(s, was or signal.SIG_DFL)
