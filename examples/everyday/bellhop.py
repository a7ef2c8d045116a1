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

All of it is SQL that you may write yourself. Rights are the login's: grant it bellhop_submitter to submit, and
bellhop_worker to work, with its types in bellhop.worker_type.
"""
import json
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


def submit(conn, type, args=None, **columns):
    """Gives the id. args is one line of text, or what becomes JSON. Columns are those of COLUMNS."""
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

    def __init__(self, conn, row, lease):
        self.id, self.fence, self.attempt, self.type, args, self.key, self.vars, self.deadline, steps = row
        self.steps, self._calls = steps or {}, {}
        try:
            self.args = json.loads(args) if args is not None else None
        except ValueError:
            self.args = args  # a line of text
        self.conn, self.lease, self.ended, self.cancelled = conn, lease, False, threading.Event()

    def finish(self, result=None):
        """The job has succeeded, if the transaction commits."""
        self._end("select bellhop.finish(%s, %s, %s)", None if result is None else json.dumps(result))

    def fail(self, error, retry=None):
        """The attempt has failed: again after so many seconds, or as the type says; below 0: never again."""
        self._end("select bellhop.fail(%s, %s, %s, make_interval(secs => %s))", str(error)[:9000], retry)

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
        """Makes jobs, such as {"type": "resize", "args": "1.jpg"}; how each has ended, in a later run."""
        if not jobs:
            return []
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


def work(url, handlers, concurrency=1, lease=60, stop=None):
    """Does jobs of these types until stop is set (without one: until SIGTERM or SIGINT), then ends those that run.
    It makes connections of its own: to the url, or to where a connection leads that is given in its place."""
    import psycopg
    if not isinstance(url, str):
        url = psycopg.conninfo.make_conninfo(url.info.dsn, password=url.info.password)
    if stop is None:
        stop = threading.Event()
        for s in (signal.SIGTERM, signal.SIGINT):
            signal.signal(s, lambda *_: stop.set())
    runs, done, lock = {}, threading.Event(), threading.Lock()

    def one():
        while not stop.is_set():
            try:
                with psycopg.connect(url, autocommit=True) as conn:
                    conn.execute("listen bellhop_work")
                    while not stop.is_set():
                        row = conn.execute("select id, fence, attempt, type, args, key, vars, deadline, steps"
                                           " from bellhop.take(%s, 1, make_interval(secs => %s))",
                                           [list(handlers), lease]).fetchone()
                        if row is None:
                            select.select([conn.fileno()], [], [], 1)  # until it rings, or for a second
                        else:
                            run(Run(conn, row, lease))
            except psycopg.OperationalError as e:  # the server is away: the lease ends, and the job is done again
                print(f"bellhop: {e}", flush=True)
                stop.wait(1)

    def run(job):
        with lock:
            runs[job.id] = job
        try:
            handlers[job.type](job)
            if not job.ended:
                job.finish()
        except (psycopg.OperationalError, Rest) as e:
            if not isinstance(e, Rest):
                raise
        except Exception as e:
            if getattr(e, "sqlstate", None) == "BH004":  # another run has it by now
                return
            job.fail(f"{type(e).__name__}: {e}")
        finally:
            with lock:
                del runs[job.id]

    def renew():
        while not done.wait(lease / 3):
            try:
                with psycopg.connect(url, autocommit=True) as conn:
                    while not done.wait(lease / 3):
                        with lock:
                            now = list(runs.values())
                        for job in now:
                            try:
                                job.renew(conn)
                            except psycopg.DatabaseError as e:
                                if e.sqlstate != "BH004":
                                    raise
                                job.cancelled.set()
            except psycopg.OperationalError as e:
                print(f"bellhop: {e}", flush=True)

    threads = [threading.Thread(target=one) for _ in range(concurrency)]
    renewer = threading.Thread(target=renew)
    for t in threads + [renewer]:
        t.start()
    for t in threads:
        t.join()
    done.set()
    renewer.join()
