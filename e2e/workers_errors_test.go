package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// A worker of one thread, whose handler does what its job's args name, and then succeeds.
const (
	pythonErrors = `
import os, psycopg, signal, sys, time
sys.path.insert(0, %q)
import bellhop

def refuse():
    raise ValueError("refused")

def mail(job):
    if job.args == "ended":
        job.finish()
        raise ValueError("too late")
    if job.args == "zero":
        raise ValueError("a\0b")
    if job.args == "half":
        raise ValueError("a\udcffb")
    if job.args == "exits":
        sys.exit("it exits")
    if job.args == "slow":
        with job.conn.transaction():
            job.conn.execute("set local statement_timeout = 10")
            job.conn.execute("select pg_sleep(60)")
    if job.args == "open":
        job.conn.execute("begin")
        job.finish()
    if job.args == "step":
        try:
            job.step("refused", refuse)
        except ValueError:
            pass
    while job.args == "held" and not os.path.exists(%q):
        time.sleep(0.01)

before = signal.getsignal(signal.SIGTERM)
bellhop.work(psycopg.connect(os.environ["DATABASE_URL"]), {"mail": mail}, lease=9)
assert signal.getsignal(signal.SIGTERM) == before, "it still has the signal"
`
	nodeErrors = `
const bellhop = require(%q + '/bellhop.js')
const { existsSync } = require('fs')
const { Client } = require('pg')
bellhop.work(async () => new Client(process.env.DATABASE_URL), {
  async mail (job) {
    if (job.args === 'ended') {
      await job.finish()
      throw new Error('too late')
    }
    if (job.args === 'zero') throw new Error('a\0b')
    if (job.args === 'undefined') throw undefined
    if (job.args === 'nothing') return Promise.reject(null)
    if (job.args === 'slow') {
      await job.client.query('begin')
      await job.client.query('set local statement_timeout = 10')
      await job.client.query('select pg_sleep(60)')
    }
    if (job.args === 'open') {
      await job.client.query('begin')
      await job.finish()
    }
    if (job.args === 'step') await job.step('refused', () => { throw new Error('refused') }).catch(() => {})
    while (job.args === 'held' && !existsSync(%q)) await new Promise(resolve => setTimeout(resolve, 10))
  }
}, { lease: 9 }).then(() => { if (process.listenerCount('SIGTERM')) throw new Error('it still has the signal') })
`
)

// What a handler does is an outcome of its job, never the end of its worker, which lives through errors of the server.
func TestWorkers_GoOnAfterErrors(t *testing.T) {
	t.Parallel()
	const of = "statement timeout"
	for _, lang := range []struct {
		name, file, text string
		want             map[string]string // the error of a job with these args; "": it succeeds
	}{
		{"Python", "errors.py", pythonErrors, map[string]string{"ended": "", "zero": "ValueError: a\ufffdb", "half": "ValueError: a?b",
			"exits": "it exits", "slow": of, "open": "left a transaction open", "step": "", "other": ""}},
		{"Node", "errors.js", nodeErrors, map[string]string{"ended": "", "zero": "Error: a\ufffdb", "undefined": "undefined",
			"nothing": "null", "slow": of, "open": "left a transaction open", "step": "", "other": ""}},
	} {
		t.Run(lang.name, func(t *testing.T) {
			t.Parallel()
			argv := workerOf(t, lang.name)
			e, address := workerDatabase(t)
			ids := map[string]int64{}
			for args := range lang.want {
				ids[args] = e.insert("type, args", "mail", args)
			}
			program := e.file(lang.file, fmt.Sprintf(lang.text, example(t, "../everyday"), e.dir+"/go"), 0o644)
			cmd, said := e.startWorker(append(argv, program), address)
			for args, want := range lang.want {
				state := "failed"
				if want == "" {
					state = "succeeded"
				}
				if j := e.waitState(ids[args], state); !strings.Contains(j.Error, want) || j.Attempt != 1 {
					t.Errorf("%s: %+v", args, j)
				}
			}
			e.sql("insert into bellhop.jobqueue (type, args) select 'mail', 'quick' from generate_series(1, 40)")
			e.eventually("they are quick", "select count(*) = 40 from bellhop.jobqueue where args = 'quick' and state = 'succeeded'")

			// As on a standby that becomes the primary: all that writes is refused, first to the takes.
			e.sql("alter role mailer set default_transaction_read_only = on")
			e.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'mailer'")
			pgtest.Eventually(t, patience, "its takes are refused", func() bool { return strings.Contains(said(), "read-only") })
			e.sql("alter role mailer reset all")
			e.waitState(e.insert("type", "mail"), "succeeded")

			// Then to the renewals alone, which go on when a third of the lease is over.
			held := e.insert("type, args", "mail", "held")
			const renews = "usename = 'mailer' and query like '%bellhop.renew(%'"
			e.eventually("its lease is renewed", "select exists (select from pg_stat_activity where "+renews+")")
			old := value[int](e, "select max(pid) from pg_stat_activity where "+renews)
			e.sql("alter role mailer set default_transaction_read_only = on")
			e.sql("select pg_terminate_backend($1)", old)
			e.eventually("a renewal is refused", "select exists (select from pg_stat_activity where pid <> $1 and "+renews+")", old)
			e.sql("alter role mailer reset all")
			const until = "select lease_until::text from bellhop.jobqueue where id = $1"
			e.eventually("its lease is renewed", "select lease_until::text <> $2 from bellhop.jobqueue where id = $1", held, value[string](e, until, held))
			e.mark("go")
			e.waitState(held, "succeeded")
			if lost := value[int](e, "select lost::int from bellhop.jobqueue where id = $1", held); lost != 0 {
				t.Errorf("it was lost %d times", lost)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil || strings.Contains(said(), "Warning") {
				t.Errorf("told to stop: %v", err)
			}
			if t.Failed() {
				t.Log(said())
			}
		})
	}
}

// A caller that gives its own stop has Ctrl-C, too: the worker takes no signal for itself.
func TestWorkers_ACallersStopLeavesItTheSignals(t *testing.T) {
	t.Parallel()
	for lang, text := range map[string]string{
		"Python": `
import os, sys, threading
sys.path.insert(0, %q)
import bellhop
bellhop.work(os.environ["DATABASE_URL"], {"mail": lambda job: None}, stop=threading.Event())
`,
		"Node": `
const bellhop = require(%q + '/bellhop.js')
const { Client } = require('pg')
bellhop.work(new Client(process.env.DATABASE_URL), { async mail () {} }, { stop: new AbortController().signal })
`,
	} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			argv := workerOf(t, lang)
			e, address := workerDatabase(t)
			program := e.file("stop."+lang, fmt.Sprintf(text, example(t, "../everyday")), 0o644)
			cmd, said := e.startWorker(append(argv, program), address)
			e.waitState(e.insert("type", "mail"), "succeeded")
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-ended:
			case <-time.After(patience):
				t.Errorf("it goes on: %s", said())
			}
		})
	}
}

// startWorker starts a program that works as the login of this address. said is what it has printed.
func (e *env) startWorker(argv []string, address string) (cmd *exec.Cmd, said func() string) {
	e.t.Helper()
	out, err := os.Create(filepath.Join(e.dir, "said"))
	if err != nil {
		e.t.Fatal(err)
	}
	cmd = exec.Command(argv[0], argv[1:]...)
	withNodePath(cmd).Env = append(cmd.Env, "DATABASE_URL="+address, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		_ = out.Close()
	})
	return cmd, func() string {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			e.t.Fatal(err)
		}
		return string(text)
	}
}
