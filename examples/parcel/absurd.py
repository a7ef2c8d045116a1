"""Orders as users of Absurd write them: DATABASE_URL=… absurd.py [ORDER]. It needs bellhop.py beside it."""
import os
import sys
import psycopg
import bellhop


def order(job):  # a task; when its process dies, the next run goes on behind the last step
    conn, id = job.conn, job.args
    job.step("reserve", lambda: conn.execute("insert into reserved values (%s)", [id]) and None)
    job.step("charge", lambda: conn.execute("insert into charged values (%s)", [id]) and None)
    parcel = job.wait_for(f"parcel.{id}", timeout=3 * 86400)  # ctx.await_event
    job.step("mail", lambda: conn.execute("insert into mails values (%s, %s)", [id, parcel["to"]]) and None)


with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as conn:
    for id in sys.argv[1:]:
        with conn.transaction():  # absurd.spawn, in the transaction of the order
            conn.execute("insert into orders values (%s)", [id])
            bellhop.submit(conn, "order", id, key=f"order.{id}")
    bellhop.work(conn, {"order": order}, concurrency=4)  # absurd.start_worker; the app emits: bellhop.emit in SQL
