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

// A ledger of two sides is filled under kill -9 of workers, instances, guards, agents and backends of the server: its
// sum is exact, no booking is missing, and none is there twice. BELLHOP_LEDGER_KILLS says how many kills.
func TestLedger_ExactUnderKills(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(os.Getenv("BELLHOP_LEDGER_KILLS"))
	if err != nil {
		t.Skip("NOT TESTED: a ledger under kills; type `BELLHOP_LEDGER_KILLS=100 go test ./e2e -run TestLedger_ -v`")
	}
	seed := uint64(time.Now().UnixNano() % 1_000_000)
	if n, err := strconv.ParseUint(os.Getenv("BELLHOP_LEDGER_SEED"), 10, 64); err == nil {
		seed = n
	}
	luck := rand.New(rand.NewPCG(seed, 1))
	e, address := tellerDatabase(t)
	e.sql("insert into bellhop.worker_type values ('mailer', 'book'); alter table entry alter item drop not null")
	var all []*bookkeeper
	add := func(language string, argv ...string) {
		cmd := withNodePath(exec.Command(argv[0]))
		all = append(all, &bookkeeper{argv: argv, env: append(cmd.Environ(), "DATABASE_URL="+address, "PYTHONDONTWRITEBYTECODE=1")})
		t.Logf("with %s", language)
	}
	for language, text := range map[string]string{"Python": pythonBookkeeper, "Node": nodeBookkeeper} {
		for _, app := range everyday {
			if argv, missing := app.command(t, pgtest.Dir(t)); app.name == language && argv != nil {
				add(language, argv[0], e.file(language, fmt.Sprintf(text, example(t, "../everyday")), 0o644))
			} else if app.name == language {
				t.Logf("NOT TESTED: a ledger in %s; type `%s`", language, missing)
			}
		}
	}
	add("psql", e.file("psql.sh", psqlBookkeeper, 0o755))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	yaml := e.file("ledger.yaml", fmt.Sprintf("listen: 127.0.0.1:0\ndatabase: {url: %q}\nlimits: {deaths: 0}\n%s", e.url, quick(2)+
		agents(fmt.Sprintf("type: teller, command: [%q, teller, json, %q], retry: {attempts: 1000, first: 10ms, most: 1s}", self, address),
			fmt.Sprintf("type: teller-exec, mode: exec, command: [%q, teller, exec, %q], retry: {attempts: 1000, first: 10ms, most: 1s}", self, address))), 0o644)
	e.sql("insert into bellhop.worker_type values ('mailer', 'teller-exec')")
	add("Go, under serve", binary, "serve", "-c", yaml)
	serve := all[len(all)-1]
	serve.env = append(serve.env, "DATABASE_URL="+e.url) // the login of the workers may not schedule
	var running sync.WaitGroup
	for _, b := range all {
		running.Go(b.run)
	}
	stop := func() {
		for _, b := range all {
			b.kill(true)
		}
		running.Wait()
	}
	defer stop()

	jobs, began, done := 0, time.Now(), 0
	counts := map[string]int{}
	for done < kills {
		var open int
		if e.pool.QueryRow(t.Context(), "select count(*)::int from bellhop.jobqueue where ended_at is null").Scan(&open) == nil && open < 60 {
			tag, err := e.pool.Exec(t.Context(), `insert into bellhop.jobqueue (type, args, max_attempts)
				select (array['book', 'book', 'book', 'teller', 'teller-exec'])[n % 5 + 1], 'plain', 1000 from generate_series(1, 40) n`)
			if err == nil { // of a commit whose answer is lost, the rows tell
				jobs += int(tag.RowsAffected())
			}
		}
		what := e.murderOne(luck, all)
		if what != "" {
			counts[what]++
			done++
		}
		time.Sleep(time.Duration(luck.IntN(120)) * time.Millisecond) // the random point of the next kill
	}
	pgtest.Eventually(t, patience, "all jobs have ended", func() (ended bool) { // the server may still recover
		err := e.pool.QueryRow(t.Context(), "select not exists (select from bellhop.jobqueue where ended_at is null)").Scan(&ended)
		return err == nil && ended
	})
	const violations = `select coalesce(string_agg(j.id || ' ' || j.type || ' ' || j.state || ' ' || b.n || ' ' || coalesce(j.error, ''), e'\n'), '')
		from bellhop.jobqueue j cross join lateral (select count(*) as n from entry where job = j.id) b where j.state <> 'succeeded' or b.n <> 2`
	if wrong := value[string](e, violations); wrong != "" {
		t.Errorf("missing, twice, or not succeeded (id, type, state, entries): %s", wrong)
	}
	if sum := value[int](e, "select sum(amount)::int from entry"); sum != 0 {
		t.Errorf("the sum of the ledger is %d", sum)
	}
	rows := value[int](e, "select count(*)::int from bellhop.jobqueue")
	if rows < jobs {
		t.Errorf("%d jobs were committed, and %d are there", jobs, rows)
	}
	t.Logf("jobs=%d kills=%d seconds=%.0f lost=%s seed=%d (%v)", rows, done, time.Since(began).Seconds(),
		value[string](e, "select count(*)::text from bellhop.lost_run"), seed, counts)
}

// murderOne kills one process by chance: a worker or the instance, its guard, its agent, or a backend of the server.
func (e *env) murderOne(luck *rand.Rand, all []*bookkeeper) (what string) {
	serve := all[len(all)-1]
	switch luck.IntN(10) {
	case 0, 1, 2, 3:
		all[luck.IntN(len(all)-1)].kill(false)
		return "worker"
	case 4:
		serve.mu.Lock()
		defer serve.mu.Unlock()
		_ = serve.cmd.Process.Kill() // its guards live on
		return "serve"
	case 5, 6, 7:
		if pid := below(serve, "bellhop", 0); pid != 0 {
			return map[bool]string{true: "guard"}[syscall.Kill(pid, syscall.SIGKILL) == nil]
		}
	case 8:
		if pid := below(serve, "teller", luck.IntN(3)); pid != 0 {
			return map[bool]string{true: "agent"}[syscall.Kill(pid, syscall.SIGKILL) == nil]
		}
	case 9:
		var pid int
		if luck.IntN(3) == 0 && e.pool.QueryRow(e.t.Context(), `select pid from pg_stat_activity where datname = current_database()
			and pid <> pg_backend_pid() and backend_type = 'client backend' order by random() limit 1`).Scan(&pid) == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the server ends all sessions, and recovers
			return "backend"
		}
	}
	return ""
}

// below finds a descendant of the instance whose command line has the word.
func below(b *bookkeeper, word string, skip int) (pid int) {
	b.mu.Lock()
	root := b.cmd.Process.Pid
	b.mu.Unlock()
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
