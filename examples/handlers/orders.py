# Makes invoices of orders: DATABASE_URL=… python3 orders.py. It needs psycopg 3 (Debian: python3-psycopg).
import os
import select
import psycopg

db = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
db.execute("listen bellhop_work")
while True:
    job = db.execute("select id, fence, args from bellhop.take('{invoice}', 1, '1 min')").fetchone()
    if job is None:
        select.select([db], [], [], 1)  # no job is ready: wait for a ring, or for a second
        continue
    (*run, order), total = job, 0
    try:
        for price, in db.execute("select price from order_line where order_id = %s", [order]).fetchall():
            total += price  # the work, part by part; after each part the lease begins again
            if db.execute("select from bellhop.renew(%s, %s, '1 min') where cancel", run).rowcount:
                raise InterruptedError("cancelled")
        with db.transaction():  # the invoice and the end of the job: both, or neither
            db.execute("insert into invoice (order_id, total) values (%s, %s)", [order, total])
            db.execute("select bellhop.finish(%s, %s, to_jsonb(%s::int))", [*run, total])
    except Exception as e:
        try:
            db.execute("select bellhop.fail(%s, %s, %s, '10 s')", [*run, str(e)])  # try again in 10 s
        except psycopg.Error as lost:  # the lease is over: another worker has the job
            print(lost)
