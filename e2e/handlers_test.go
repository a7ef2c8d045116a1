package e2e

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// handler is an example of docs/handlers.md.
type handler struct {
	language, file string
	programs       [][]string // of which the first that passes the probe runs it
	probe          []string
	missing        string // what to type where none does
	// submit is a program around the page's line that submits an order.
	submit string
	deaf   bool // it hears no NOTIFY, and asks each second
}

const jdbc = "/usr/share/java/postgresql.jar"

var handlers = []handler{
	{language: "Python", file: "orders.py", programs: [][]string{{"python3"}, {"/usr/bin/python3"}},
		probe: []string{"-c", "import psycopg"}, missing: "apt-get install python3 python3-psycopg",
		submit: "import os, psycopg\norder = 42\nwith psycopg.connect(os.environ['DATABASE_URL']) as db:\n    %s\n"},
	{language: "Node", file: "orders.js", programs: [][]string{{"node"}}, probe: []string{"-e", "require('pg')"},
		missing: "apt-get install nodejs node-pg",
		submit: `const db = new (require('pg').Client)(process.env.DATABASE_URL), order = 42
db.connect().then(async () => { %s; await db.end() })`},
	{language: "Ruby", file: "orders.rb", programs: [][]string{{"ruby"}, {"/usr/bin/ruby"}},
		probe: []string{"-rpg", "-e", ""}, missing: "apt-get install ruby ruby-pg",
		submit: "require 'pg'\ndb, order = PG.connect(ENV['DATABASE_URL']), 42\n%s\n"},
	{language: "PHP", file: "orders.php", programs: [][]string{{"php"}, {"/usr/bin/php"}},
		probe: []string{"-r", "exit(extension_loaded('pdo_pgsql') ? 0 : 1);"}, missing: "apt-get install php-cli php-pgsql",
		submit: "<?php $db = new PDO(getenv('PDO_DSN')); $order = 42;\n%s\n"},
	{language: "Java", file: "Orders.java", programs: [][]string{{"java", "-XX:TieredStopAtLevel=1", "-cp", jdbc}},
		probe:   []string{"--describe-module", "jdk.compiler"},
		missing: "apt-get install default-jdk-headless libpostgresql-jdbc-java",
		submit: `class Submit extends Orders { public static void main(String[] args) throws Exception {
var order = "42"; var db = java.sql.DriverManager.getConnection(System.getenv("JDBC_URL"));
%s
} }
`},
	{language: "bash", file: "orders.sh", programs: [][]string{{"bash"}}, probe: []string{"-c", "command -v psql"},
		missing: "apt-get install bash postgresql-client", submit: "order=42\n%s\n", deaf: true},
}

// argv is the program that runs files of the language; the test is skipped where there is none.
func (h handler) argv(t *testing.T) []string {
	t.Helper()
	for _, argv := range h.programs {
		_, err := os.Stat(jdbc)
		if h.language == "Java" && err != nil {
			break
		}
		cmd := exec.Command(argv[0], append(argv[1:], h.probe...)...)
		if withNodePath(cmd).Run() == nil {
			return argv
		}
	}
	t.Skipf("NOT TESTED: a handler in %s; type `%s`", h.language, h.missing)
	return nil
}

// line is what the page shows of the language in its table of lines that submit.
func (h handler) line(t *testing.T, page string) string {
	t.Helper()
	row := regexp.MustCompile("(?m)^\\| " + h.language + " \\| `(.*insert into.*)` \\|$").FindStringSubmatch(page)
	if row == nil {
		t.Fatalf("docs/handlers.md shows no line that submits in %s", h.language)
	}
	return row[1]
}

func handlersPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/handlers.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// The page shows each example as it is, and each is short.
func TestHandlers_ThePageShowsThem(t *testing.T) {
	t.Parallel()
	page := handlersPage(t)
	for _, h := range handlers {
		text, err := os.ReadFile(example(t, "../handlers/"+h.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > 30 {
			t.Errorf("%s has %d lines, and may have 30", h.file, n)
		}
		has(t, page, "## "+h.language+"\n", "\n"+strings.TrimPrefix(string(text), "#!/bin/bash\n")+"```\n")
	}
}

// In every language, with the rights that the page grants, one line submits, and the example does what the page says
// of it: its row is there once, whatever dies in between.
func TestHandlers_EachRowOnceInEveryLanguage(t *testing.T) {
	t.Parallel()
	c, all := setupOwn(t)
	page := handlersPage(t)
	_, setUp, _ := strings.Cut(page, "```sql\n")
	setUp, _, _ = strings.Cut(setUp, "```")
	all.sql(setUp)
	for _, h := range handlers {
		t.Run(h.language, func(t *testing.T) {
			argv := h.argv(t)
			file := example(t, "../handlers/"+h.file)
			s := &shop{env: on(t, c.URL()), argv: argv, file: file, environ: shopAddresses(t, c.TCPURL())}
			s.sql("truncate order_line, invoice; delete from bellhop.jobqueue")
			worker := s.start()
			s.submits(h, h.line(t, page))
			if !h.deaf {
				s.hearsRings()
			}
			s.triesAgain()
			s.isCancelled()
			worker = s.diesInTheMidst(worker)
			s.losesItsLease(worker)
			const wrong = `select coalesce(string_agg(j.id || ' ' || state || ' ' || n, ', '), '') from bellhop.jobqueue j
				cross join lateral (select count(*) as n from invoice where order_id::text = j.args) i where n <> (state = 'succeeded')::int`
			if jobs := value[string](s.env, wrong); jobs != "" {
				t.Errorf("not one invoice for each job that succeeded, and none for the others (id, state, invoices): %s", jobs)
			}
		})
	}
}

// shop is the database of the page, and workers of one language on it.
type shop struct {
	*env
	argv    []string
	file    string
	environ []string
	orders  int
}

// shopAddresses tells the examples where their database is, each in the way of its driver.
func shopAddresses(t *testing.T, server string) []string {
	t.Helper()
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword("shop", "secret")
	return []string{
		"DATABASE_URL=" + at.String(),
		fmt.Sprintf("PDO_DSN=pgsql:host=%s;port=%s;dbname=%s;user=shop;password=secret",
			at.Hostname(), at.Port(), at.Path[1:]),
		fmt.Sprintf("JDBC_URL=jdbc:postgresql://%s%s?user=shop&password=secret", at.Host, at.Path),
	}
}

// command runs a file of the language in a process group of its own.
func (s *shop) command(file string) *exec.Cmd {
	cmd := exec.Command(s.argv[0], append(slices.Clone(s.argv[1:]), file)...)
	withNodePath(cmd).Env = append(cmd.Env, s.environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = s.t.Output(), s.t.Output()
	return cmd
}

// start starts a worker, which runs until it is killed, or until the test's end.
func (s *shop) start() *exec.Cmd {
	s.t.Helper()
	cmd := s.command(s.file)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.kill(cmd) })
	return cmd
}

func (s *shop) signal(worker *exec.Cmd, signal syscall.Signal) {
	_ = syscall.Kill(-worker.Process.Pid, signal) // it may have ended
}

func (s *shop) kill(worker *exec.Cmd) {
	if worker.ProcessState == nil {
		s.signal(worker, syscall.SIGKILL)
		_ = worker.Wait() // it was killed
	}
}

// lines writes the lines of another order.
func (s *shop) lines(prices ...int) {
	s.t.Helper()
	s.orders++
	for _, price := range prices {
		s.sql("insert into order_line values ($1, $2)", s.orders, price)
	}
}

// invoice submits the job of the last order.
func (s *shop) invoice() (id int64) {
	s.t.Helper()
	return s.insert("type, args, max_attempts", "invoice", strconv.Itoa(s.orders), 1000)
}

// hold runs a statement that locks something, until it is let go.
func (s *shop) hold(statement string, args ...any) (letGo func()) {
	s.t.Helper()
	tx, err := s.pool.Begin(s.t.Context())
	if err == nil {
		_, err = tx.Exec(s.t.Context(), statement, args...)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := tx.Commit(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// waits returns when a worker's statement waits for a lock.
func (s *shop) waits(statement string) {
	s.t.Helper()
	s.eventually("a worker waits in "+statement, `select exists (select from pg_stat_activity
		where usename = 'shop' and wait_event_type = 'Lock' and query like '%' || $1 || '%')`, statement)
}

// aMinutePasses ends the lease of a job.
const aMinutePasses = "update bellhop.jobqueue set lease_until = clock_timestamp() where id = $1"

func (s *shop) submits(h handler, line string) {
	s.t.Helper()
	s.sql("insert into order_line values (42, 5), (42, 7), (42, 30)")
	text := fmt.Sprintf(h.submit, line)
	if h.language == "Java" { // the line calls a function of the example
		orders, err := os.ReadFile(s.file)
		if err != nil {
			s.t.Fatal(err)
		}
		text += string(orders)
	}
	cmd := s.command(s.env.file("submit"+h.file[strings.Index(h.file, "."):], text, 0o644))
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	id := value[int64](s.env, "select id from bellhop.jobqueue where type = 'invoice' and args = '42' and key = 'invoice.42' and submitted_by = 'shop'")
	s.waitState(id, "succeeded")
	if got := value[string](s.env, "select concat_ws(' ', result, total) from bellhop.jobqueue, invoice where id = $1", id); got != "42 42" {
		s.t.Errorf("its result and its row have %s", got)
	}
	s.orders = 42
}

// A job that comes while the worker sleeps begins long before the second is over after which it looks without a ring.
func (s *shop) hearsRings() {
	s.t.Helper()
	const tries = 10
	for range tries {
		s.eventually("it sleeps", `select exists (select from pg_locks l join pg_stat_activity a using (pid)
			where usename = 'shop' and a.state = 'idle' and locktype = 'advisory' and mode = 'ExclusiveLock' and granted)`)
		s.lines(1)
		id := s.invoice()
		s.waitState(id, "succeeded")
		if s.pickUp(id) < soon/4 {
			return
		}
	}
	s.t.Errorf("none of %d jobs began within %v", tries, soon/4)
}

func (s *shop) triesAgain() {
	s.t.Helper()
	bad := s.insert("type, args", "invoice", "no number")
	s.lines()
	id := s.invoice() // without lines the row is refused
	s.waitState(id, "scheduled")
	s.waitState(bad, "failed")
	if !value[bool](s.env, `select min(a.error) like '%invoice_total_check%' and min(q.run_at) - max(a.ended_at) between '5 s' and '10 s'
		from bellhop.jobqueue q join bellhop.attempt_past a on a.job = q.id where q.id = $1`, id) {
		s.t.Errorf("not its error, or not tried again in 10 s: %+v", s.job(id))
	}
	s.sql("insert into order_line values ($1, 3)", s.orders)
	s.ok("edit", fmt.Sprint(id), "--at", "now")
	if j := s.waitState(id, "succeeded"); j.Attempt < 2 {
		s.t.Errorf("it is %+v", j)
	}
}

func (s *shop) isCancelled() {
	s.t.Helper()
	s.lines(1, 2)
	letGo := s.hold("lock table order_line in access exclusive mode")
	id := s.invoice()
	s.waits("from order_line")
	s.ok("cancel", fmt.Sprint(id))
	letGo()
	s.waitState(id, "cancelled")
}

// The worker is killed while it works, and the next one between its row and the end of the job: the third one does it.
func (s *shop) diesInTheMidst(worker *exec.Cmd) (third *exec.Cmd) {
	s.t.Helper()
	s.lines(1, 2)
	letRead := s.hold("lock table order_line in access exclusive mode")
	letWrite := s.hold("lock table invoice in exclusive mode")
	id := s.invoice()
	s.waits("from order_line")
	s.kill(worker)
	lost := s.job(id).Fence
	s.sql(aMinutePasses, id)

	second := s.start()
	s.eventually("another worker has it", "select state = 'running' and fence > $2 from bellhop.jobqueue where id = $1", id, lost)
	half := value[time.Time](s.env, "update bellhop.jobqueue set lease_until = lease_until - interval '30 s' where id = $1 returning lease_until", id)
	letRead()
	s.waits("insert into invoice")
	if !value[bool](s.env, "select lease_until > $2 from bellhop.jobqueue where id = $1", id, half) {
		s.t.Error("its lease does not begin again while it works")
	}
	letFinish := s.hold("select from bellhop.jobqueue where id = $1 for no key update", id)
	letWrite()
	s.waits("bellhop.finish")
	s.kill(second)
	letFinish()
	s.sql(aMinutePasses, id)

	third = s.start()
	s.waitState(id, "succeeded")
	if got := value[string](s.env, "select attempt || ' ' || lost from bellhop.jobqueue where id = $1", id); got != "1 2" {
		s.t.Errorf("attempts and lost runs are %s", got)
	}
	return third
}

// A worker that stood still for a minute between its row and the end of the job loses both, and goes on with the next.
func (s *shop) losesItsLease(worker *exec.Cmd) {
	s.t.Helper()
	s.lines(1)
	letWrite := s.hold("lock table invoice in exclusive mode")
	id := s.invoice()
	s.waits("insert into invoice")
	s.signal(worker, syscall.SIGSTOP)
	letWrite()
	s.sql(aMinutePasses, id)
	second := s.start()
	s.waitState(id, "succeeded")
	s.kill(second)
	s.eventually("its session is gone, which might take another job", "select count(*) <= 1 from pg_stat_activity where usename = 'shop'")
	s.signal(worker, syscall.SIGCONT)
	s.lines(1)
	s.waitState(s.invoice(), "succeeded")
}
