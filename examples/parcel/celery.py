"""Orders as users of Celery write them: DATABASE_URL=… celery.py [ORDER]. It needs bellhop.py beside it."""
import os
import sys
import psycopg
import bellhop


def task(sql):  # @app.task: its row and the end of the job, both or neither
    def run(job, *values):
        with job.conn.transaction():
            job.conn.execute(sql, [job.args, *values])
            job.finish()
    return run


reserve, charge = task("insert into reserved values (%s)"), task("insert into charged values (%s)")
mail = task("insert into mails values (%s, %s)")
tasks = {"reserve": reserve, "charge": charge, "mail": lambda job: mail(job, job.wait_for(f"parcel.{job.args}")["to"])}
with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as conn:
    for id in sys.argv[1:]:
        with conn.transaction():  # with the order: chain(reserve.si(id), charge.si(id), mail.si(id)).delay()
            conn.execute("insert into orders values (%s)", [id])
            last = []
            for name in tasks:
                last = [bellhop.submit(conn, name, id, after=last, max_attempts=3)]
    bellhop.work(conn, tasks, concurrency=4)  # celery worker
