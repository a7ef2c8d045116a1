package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// bookkeeper is a program that does jobs until it is killed; it is started again then.
type bookkeeper struct {
	argv []string
	env  []string
	mu   sync.Mutex
	cmd  *exec.Cmd
	end  bool
}

func (b *bookkeeper) run() {
	for {
		b.mu.Lock()
		if b.end {
			b.mu.Unlock()
			return
		}
		b.cmd = exec.Command(b.argv[0], b.argv[1:]...)
		b.cmd.Env = b.env
		b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err := b.cmd.Start()
		b.mu.Unlock()
		if err == nil {
			_ = b.cmd.Wait() // how it ended tells nothing: it is killed, or its server is away
		}
		time.Sleep(50 * time.Millisecond) // a server that recovers refuses all: not a busy loop
	}
}

// kill ends it with all of its group; for good: it is not started again.
func (b *bookkeeper) kill(forGood bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end = b.end || forGood
	if b.cmd != nil && b.cmd.Process != nil {
		_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	}
}

// pid is that of the program as it runs now or ran last; 0: it has not been started yet.
func (b *bookkeeper) pid() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd == nil || b.cmd.Process == nil {
		return 0
	}
	return b.cmd.Process.Pid
}

// The bodies of the handlers: two sides of one booking and the outcome of the job, in one transaction.
const (
	pythonBookkeeper = `
import os, psycopg, sys, time
sys.path.insert(0, %q)
import bellhop
def book(job):
    with job.conn.transaction():
        job.conn.execute("insert into entry (job, amount) values (%%s, 5), (%%s, -5)", [job.id, job.id])
        job.finish(1)
bellhop.work(os.environ["DATABASE_URL"], {"book": book}, concurrency=2, lease=2)
`
	nodeBookkeeper = `
const bellhop = require(%q + '/bellhop.js')
const { Client } = require('pg')
bellhop.work(() => new Client(process.env.DATABASE_URL), {
  async book (job) {
    await job.client.query('begin')
    await job.client.query('insert into entry (job, amount) values ($1, 5), ($1, -5)', [job.id])
    await job.finish(1)
    await job.client.query('commit')
  }
}, { concurrency: 2, lease: 2 })
`
	psqlBookkeeper = `#!/bin/sh
while :; do
  psql "$DATABASE_URL" -XAtq -F ' ' -c "select id, fence from bellhop.take('{book}', 1, '2 s')" | while read -r id fence; do
    psql "$DATABASE_URL" -Xq1 -v ON_ERROR_STOP=1 -c "insert into entry (job, amount) values ($id, 5), ($id, -5)" \
      -c "select bellhop.finish($id, $fence, '1')"
  done
  sleep 0.1
done
`
)

// ledger is a book of two sides, and the programs that fill it.
type ledger struct {
	*env
	luck   *rand.Rand
	all    []*bookkeeper
	serve  *bookkeeper // nil: workers alone
	types  string      // of the jobs, as an array of SQL
	counts map[string]int
}

// A ledger of two sides is filled under kill -9 of workers, instances, guards, agents and backends of the server: its
// sum is exact, no booking is missing, and none is there twice. So it is, too, if workers alone fill it, without any
// instance. BELLHOP_LEDGER_KILLS says how many kills, of either; as many jobs are done at least.
func TestLedger_ExactUnderKills(t *testing.T) {
	t.Parallel()
	kills := 15
	if n, err := strconv.Atoi(os.Getenv("BELLHOP_LEDGER_KILLS")); err == nil {
		kills = n
	}
	seed := uint64(time.Now().UnixNano() % 1_000_000)
	if n, err := strconv.ParseUint(os.Getenv("BELLHOP_LEDGER_SEED"), 10, 64); err == nil {
		seed = n
	}
	for name, open := range map[string]func(*ledger, string){
		"instances": (*ledger).withInstances, "workers alone": (*ledger).withWorkers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, address := tellerDatabase(t)
			l := &ledger{env: e, luck: rand.New(rand.NewPCG(seed, 1)), counts: map[string]int{}}
			e.sql("insert into bellhop.worker_type values ('mailer', 'book'); alter table entry alter item drop not null")
			open(l, address)
			defer l.start()()
			began := time.Now()
			l.fill(kills)
			l.audit()
			t.Logf("jobs=%d kills=%d seconds=%.0f lost=%s seed=%d (%v)", value[int](e, "select count(*)::int from bellhop.jobqueue"), kills,
				time.Since(began).Seconds(), value[string](e, "select count(*)::text from bellhop.lost_run"), seed, l.counts)
		})
	}
}

// add has one more program fill the ledger.
func (l *ledger) add(address string, argv ...string) *bookkeeper {
	cmd := withNodePath(exec.Command(argv[0]))
	b := &bookkeeper{argv: argv, env: append(cmd.Environ(), "DATABASE_URL="+address, "INSTANCE_URL="+l.url, "PYTHONDONTWRITEBYTECODE=1")}
	l.all = append(l.all, b)
	return b
}

// withWorkers adds workers by bellhop.take in Go, Python, Node and psql.
func (l *ledger) withWorkers(address string) {
	t := l.t
	l.types = "(array['book'])"
	for language, text := range map[string]string{"Python": pythonBookkeeper, "Node": nodeBookkeeper} {
		for _, app := range everyday {
			if app.name != language {
				continue
			}
			if argv, missing := app.command(t, pgtest.Dir(t)); argv != nil {
				l.add(address, argv[0], l.file(language, fmt.Sprintf(text, example(t, "../everyday")), 0o644))
			} else {
				t.Logf("NOT TESTED: a ledger in %s; type `%s`", language, missing)
			}
		}
	}
	l.add(address, l.file("psql.sh", psqlBookkeeper, 0o755))
	l.add(address, self(t), "teller", "take", address)
}

// withInstances adds the workers, a Go app with a handler, and an instance with two agents in Go.
func (l *ledger) withInstances(address string) {
	l.withWorkers(address)
	l.types = "(array['book', 'book', 'teller', 'teller', 'teller-exec'])"
	l.sql("insert into bellhop.worker_type values ('mailer', 'teller-exec')")
	l.add(address, self(l.t), "teller", "app", address)
	const retry = "retry: {attempts: 1000, first: 10ms, most: 1s}"
	yaml := l.file("ledger.yaml", fmt.Sprintf("listen: 127.0.0.1:0\ndatabase: {url: %q}\nlimits: {deaths: 0}\n%s", l.url, quick(2)+agents(
		fmt.Sprintf("type: teller, command: [%q, teller, json, %q], %s", self(l.t), address, retry),
		fmt.Sprintf("type: teller-exec, mode: exec, command: [%q, teller, exec, %q], %s", self(l.t), address, retry))), 0o644)
	l.serve = l.add(l.url, binary, "serve", "-c", yaml) // the login of the workers may not schedule
}

// self is this program, which is a teller, too.
func self(t *testing.T) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs the programs until stop.
func (l *ledger) start() (stop func()) {
	var running sync.WaitGroup
	for _, b := range l.all {
		running.Go(b.run)
	}
	return func() {
		for _, b := range l.all {
			b.kill(true)
		}
		running.Wait()
	}
}

// fill inserts jobs and kills programs, as often as jobs have ended, until there were so many kills; then all jobs end.
func (l *ledger) fill(kills int) {
	open, ended, moved := 0, 0, time.Now()
	for done := 0; done < kills; {
		before := ended
		err := l.pool.QueryRow(l.t.Context(), `select count(*) filter (where ended_at is null)::int, count(ended_at)::int
			from bellhop.jobqueue`).Scan(&open, &ended)
		if err == nil && open < 60 {
			_, err = l.pool.Exec(l.t.Context(), `insert into bellhop.jobqueue (type, args, max_attempts)
				select `+l.types+`[n % cardinality(`+l.types+`) + 1], 'plain', 1000 from generate_series(1, 40) n`)
		}
		switch {
		case ended > before:
			moved = time.Now()
		case time.Since(moved) > patience:
			l.t.Fatalf("no job has ended for %s, after %d kills; %d wait (%v)", patience, done, open, err)
		}
		if ended >= done {
			if what := l.murderOne(); what != "" {
				l.counts[what]++
				done++
			}
		}
		time.Sleep(time.Duration(l.luck.IntN(120)) * time.Millisecond) // the random point of the next kill
	}
	open = 1
	for moved = time.Now(); open > 0; time.Sleep(100 * time.Millisecond) { // the server may still recover
		err := l.pool.QueryRow(l.t.Context(), "select count(*)::int from bellhop.jobqueue where ended_at is null").Scan(&open)
		if time.Since(moved) > patience {
			l.t.Fatalf("%d jobs have not ended in %s (%v):\n%s", open, patience, err, value[string](l.env, `select string_agg(concat_ws(' ', id,
				type, state, attempt, waiting_for, host, child, error), e'\n' order by id) from bellhop.jobqueue where ended_at is null`))
		}
	}
}

// audit holds the ledger against the jobs: each has succeeded, and has its two entries, once.
func (l *ledger) audit() {
	const violations = `select coalesce(string_agg(concat_ws(' ', coalesce(j.id, b.job), j.type, j.state, b.n, b.sum, j.error), e'\n'), '')
		from bellhop.jobqueue j full join (select job, count(*) as n, sum(amount) as sum from entry group by job) b on b.job = j.id
		where j.state is distinct from 'succeeded' or b.n is distinct from 2 or b.sum <> 0`
	if wrong := value[string](l.env, violations); wrong != "" {
		l.t.Errorf("missing, twice, or not succeeded (id, type, state, entries, sum, error): %s", wrong)
	}
	if sum := value[int](l.env, "select coalesce(sum(amount), 1)::int from entry"); sum != 0 {
		l.t.Errorf("the sum of the ledger is %d", sum)
	}
}

// murderOne kills one process by chance: a worker or the instance, its guard, its agent, or a backend of the server.
// After a backend is killed, the server ends all sessions, and recovers; if one is terminated, only its session ends.
func (l *ledger) murderOne() (what string) {
	const backend = ` from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
		and backend_type = 'client backend' order by random() limit 1`
	ctx := l.t.Context()
	throw := l.luck.IntN(10)
	switch {
	case throw < 4 || throw < 8 && l.serve == nil:
		l.all[l.luck.IntN(len(l.all)-map[bool]int{true: 0, false: 1}[l.serve == nil])].kill(false)
		return "worker"
	case throw == 4:
		l.serve.mu.Lock()
		defer l.serve.mu.Unlock()
		if l.serve.cmd != nil && l.serve.cmd.Process != nil {
			_ = l.serve.cmd.Process.Kill() // its guards live on
			return "serve"
		}
	case throw < 7:
		if pid := below(l.serve, "bellhop", 0); pid != 0 {
			return map[bool]string{true: "guard"}[syscall.Kill(pid, syscall.SIGKILL) == nil]
		}
	case throw == 7:
		if pid := below(l.serve, "teller", l.luck.IntN(3)); pid != 0 {
			return map[bool]string{true: "agent"}[syscall.Kill(pid, syscall.SIGKILL) == nil]
		}
	case throw == 8:
		var pid int
		if l.luck.IntN(3) == 0 && l.pool.QueryRow(ctx, "select pid"+backend).Scan(&pid) == nil {
			return map[bool]string{true: "backend"}[syscall.Kill(pid, syscall.SIGKILL) == nil]
		}
	case throw == 9:
		if _, err := l.pool.Exec(ctx, "select pg_terminate_backend(pid)"+backend); err == nil {
			return "session"
		}
	}
	return ""
}

// below finds a descendant of the instance whose command line has the word.
func below(b *bookkeeper, word string, skip int) (pid int) {
	root := b.pid()
	if root == 0 {
		return 0
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	parents, lines := map[int]int{}, map[int]string{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var parent int
		var state string
		_, _ = fmt.Sscan(string(text[strings.LastIndexByte(string(text), ')')+1:]), &state, &parent)
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		parents[pid], lines[pid] = parent, string(line)
	}
	for p := range parents {
		up := p
		for up > 1 && up != root {
			up = parents[up]
		}
		is := strings.Contains(lines[p], "\x00teller\x00")
		if up == root && p != root && is == (word == "teller") {
			if pid = p; skip == 0 {
				return pid
			}
			skip--
		}
	}
	return pid
}
