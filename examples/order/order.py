#!/usr/bin/env python3
"""An order and its invoice, in one transaction: the invoice is made if, and
only if, the order is there.

    DATABASE_URL=postgres://app@db/app order.py 42 99.5

The order's table is the app's own:
    create table orders (id bigint primary key, total numeric check (total >= 0));
Needs psycopg 3 (Debian: python3-psycopg; pip: "psycopg[binary]").
"""
import os
import sys

import psycopg


def order(conn, id, total, traceparent):
    with conn.transaction():  # commits at the end, rolls back on any exception
        # For every job of this transaction. Where the app is traced, it is
        # opentelemetry.propagate.inject(carrier); carrier["traceparent"].
        conn.execute("select set_config('bellhop.traceparent', %s, true)", [traceparent])
        job, = conn.execute(
            "insert into bellhop.jobqueue (type, args, key) values ('invoice', %s, %s) returning id",
            [id, f"invoice.{id}"]).fetchone()
        conn.execute("insert into orders (id, total) values (%s, %s)", [id, total])
    return job


if __name__ == "__main__":
    with psycopg.connect(os.environ["DATABASE_URL"]) as conn:
        print(order(conn, sys.argv[1], sys.argv[2], os.environ.get("TRACEPARENT", "")))
