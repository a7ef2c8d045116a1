package e2e

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"bellhop/pgdev/pgtest"
)

// A worker's handler: it writes a row and finishes its job in one transaction, and takes a while before and after. It
// fails at first where its job says so.
const (
	pythonWorker = `
import os, psycopg, sys, time
sys.path.insert(0, %q)
import bellhop

def mail(job):
    if job.args["fails"] and job.attempt == 1:
        raise ValueError("not yet")
    time.sleep(job.args["ms"] / 1000)
    with job.conn.transaction():
        job.conn.execute("insert into sent (job) values (%%s)", [job.id])
        job.conn.execute("update balance set amount = amount + 1")
        job.finish({"sent": job.args["n"]})
    time.sleep(job.args["ms"] / 1000)

bellhop.work(psycopg.connect(os.environ["DATABASE_URL"]), {"mail": mail}, concurrency=3, lease=2)
`
	nodeWorker = `
const bellhop = require(%q + '/bellhop.js')
const { Client } = require('pg')
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))
bellhop.work(new Client(process.env.DATABASE_URL), {
  async mail (job) {
    if (job.args.fails && job.attempt === 1) throw new Error('not yet')
    await pause(job.args.ms)
    await job.client.query('begin')
    await job.client.query('insert into sent (job) values ($1)', [job.id])
    await job.client.query('update balance set amount = amount + 1')
    await job.finish({ sent: job.args.n })
    await job.client.query('commit')
    await pause(job.args.ms)
  }
}, { concurrency: 3, lease: 2 })
`
)

// Without any instance: an app's own processes do the jobs and are killed at any moment. Each row is there once.
func TestWorkers_EachRowOnceUnderKills(t *testing.T) {
	t.Parallel()
	for _, lang := range []struct{ name, file, text string }{
		{"Python", "worker.py", pythonWorker},
		{"Node", "worker.js", nodeWorker},
	} {
		t.Run(lang.name, func(t *testing.T) {
			t.Parallel()
			argv := workerOf(t, lang.name)
			e, address := workerDatabase(t)
			e.sql("create table sent (job bigint primary key); create table balance (amount int); insert into balance values (0)")
			e.sql("grant select, insert on sent to mailer; grant select, update on balance to mailer")
			argv = append(argv, e.file(lang.file, fmt.Sprintf(lang.text, example(t, "../everyday")), 0o644))
			const jobs = 60
			e.sql(`insert into bellhop.jobqueue (type, args, max_attempts)
				select 'mail', json_build_object('n', n, 'ms', n % 7 * 5, 'fails', n % 10 = 0)::text, 3 from generate_series(1, ` + fmt.Sprint(jobs) + `) n`)
			var out strings.Builder
			start := func() *exec.Cmd {
				cmd := exec.Command(argv[0], argv[1:]...)
				withNodePath(cmd).Env = append(cmd.Env, "DATABASE_URL="+address, "PYTHONDONTWRITEBYTECODE=1")
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				return cmd
			}
			ended := func() (n int) {
				return column[int](e, "select count(*)::int from bellhop.jobqueue where state = 'succeeded'")[0]
			}
			for kills := 0; kills < 6 && ended() < jobs; kills++ {
				cmd := start()
				e.eventually("it works", fmt.Sprintf("select count(*) > %d or count(*) = %d from bellhop.jobqueue where state = 'succeeded'", ended()+4, jobs))
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait() // it was killed
			}
			cmd := start()
			e.eventually("all jobs succeed", fmt.Sprintf("select count(*) = %d from bellhop.jobqueue where state = 'succeeded'", jobs))
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("told to stop: %v: %s", err, out.String())
			}
			got := column[string](e, `select concat_ws(' ', (select amount from balance), (select count(*) from sent), (select sum((result ->> 'sent')::int) from bellhop.jobqueue),
				(select count(*) from bellhop.attempt_past where error like '%not yet%'), (select count(*) from bellhop.jobqueue where attempt = 2))`)
			if want := fmt.Sprintf("%d %d %d %d %d", jobs, jobs, jobs*(jobs+1)/2, jobs/10, jobs/10); got[0] != want {
				t.Errorf("balance, rows, sum, failures and second attempts are %s, want %s: %s", got[0], want, out.String())
			}
			t.Logf("%s runs were lost", column[string](e, "select count(*)::text from bellhop.lost_run")[0])
		})
	}
}

// A shell loop over psql is a worker, too.
func TestWorkers_ALoopOverPsql(t *testing.T) {
	t.Parallel()
	e, address := workerDatabase(t)
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("NOT TESTED: a worker over psql; type `apt-get install postgresql-client`")
	}
	e.sql(`insert into bellhop.jobqueue (type, args) values ('mail', 'to ann'), ('mail', 'say "it''s" \now'), ('mail', 'fail'), ('mail', 'raw')`)
	cmd := exec.Command(example(t, "../everyday/worker.sh"), "mail", "sh", "-c", `read -r line; printf "sent %s" "$line"
[ "$line" != raw ] || printf "\377 bytes"; [ "$line" != fail ]`)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+address)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
	}()
	e.eventually("four jobs end", "select count(*) = 4 from bellhop.jobqueue where ended_at is not null")
	if got := column[string](e, "select concat_ws(' ', state, result #>> '{}', error) from bellhop.jobqueue order by id"); strings.Join(got, ", ") !=
		`succeeded sent to ann, succeeded sent say "it's" \now, failed sent fail, succeeded sent raw bytes` {
		t.Errorf("they are %q: %s", got, out.String())
	}
}

func TestWorkers_AreExplained(t *testing.T) {
	t.Parallel()
	e, _ := workerDatabase(t)
	id := e.insert("type", "mail")
	e.because(id, "no_worker", "These logins may: mailer.")
	e.sql("select bellhop.take('{mail}')")
	e.because(id, "running/worker", "in a session of worker ", "attempt 1 of 1; its lease ends at ")
}

// workerOf is the interpreter of a language that has its driver for PostgreSQL.
func workerOf(t *testing.T, lang string) []string {
	t.Helper()
	for _, app := range everyday {
		if app.name == lang {
			argv, missing := app.command(t, pgtest.Dir(t))
			if argv == nil {
				t.Skipf("NOT TESTED: a worker in %s; type `%s`", lang, missing)
			}
			return argv[:1]
		}
	}
	t.Fatalf("no app in %s", lang)
	return nil
}

// workerDatabase is a database without an instance, and the address of a login that may work on mail.
func workerDatabase(t *testing.T) (*env, string) {
	t.Helper()
	c, e := setupOwn(t)
	e.sql("create role mailer login password 'x'; grant bellhop_worker to mailer; insert into bellhop.worker_type values ('mailer', 'mail')")
	address, err := url.Parse(c.TCPURL())
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword("mailer", "x")
	return e, address.String()
}
