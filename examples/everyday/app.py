#!/usr/bin/env python3
"""An app's day in Python: DATABASE_URL=… app.py ORDER. It needs psycopg 3, and bellhop.py beside it."""
import os
import sys

import psycopg

import bellhop

order = sys.argv[1]
with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as conn:
    with conn.transaction():  # the order and its job: both, or neither
        conn.execute("insert into orders (id) values (%s)", [order])
        invoice = bellhop.submit(conn, "invoice", order, key=f"invoice.{order}")
    for job in bellhop.watch(conn, invoice):  # until it is over
        print(job.state, f"{job.progress or 0:.0%}", job.progress_text or "", job.result or "", flush=True)
    if job.state != "succeeded":
        sys.exit(job.error)
    reminder = bellhop.submit(conn, "invoice", f"remind {order}", run_at="infinity")
    print("the reminder is", bellhop.cancel(conn, reminder))
    print(bellhop.retry_all(conn, type="mail"), "failed mails are tried again")
