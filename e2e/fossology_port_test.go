package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// frontEnd is FOSSology's front end, as far as it talks with its scheduler.
type frontEnd struct {
	t       *testing.T
	address string
}

var answered = regexp.MustCompile(`front end is answered.*?(127\.0\.0\.1:\d+)`)

// port finds the port that an instance answers.
func (i *instance) port() frontEnd {
	i.b.t.Helper()
	i.waitSaid("FOSSology's front end is answered")
	return frontEnd{i.b.t, answered.FindStringSubmatch(i.said())[1]}
}

// say does what the front end does for one command: it connects, writes the
// command without a newline, and reads line by line until `end`, or until
// `received` where no list is to follow.
func (f frontEnd) say(input string) (output string) {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, strings.TrimSpace(input)); err != nil {
		f.t.Fatal(err)
	}
	lists := strings.HasPrefix(input, "status") || strings.HasPrefix(input, "agents")
	for r := bufio.NewReader(conn); ; {
		line, err := r.ReadString('\n')
		switch {
		case err != nil:
			f.t.Fatalf("%s: after %q: %v", input, output, err)
		case strings.HasPrefix(line, "end"), strings.HasPrefix(line, "received") && !lists:
			return output
		case !strings.HasPrefix(line, "received"):
			output += line
		}
	}
}

// runnable is the front end's list of jobs, for its menu.
func (f frontEnd) runnable() (ids []string) {
	f.t.Helper()
	for _, m := range regexp.MustCompile(`job:(\d+) `).FindAllStringSubmatch(f.say("status"), -1) {
		ids = append(ids, m[1])
	}
	slices.Sort(ids)
	return ids
}

// TestFOSSologyPort_WhatTheFrontEndSays: each word, as the front end says it,
// does what it did with FOSSology's own scheduler.
func TestFOSSologyPort_WhatTheFrontEndSays(t *testing.T) {
	t.Parallel()
	e := front(t)
	e.sql("alter database " + value[string](e, "select quote_ident(current_database())") + " set fossology.grace = '1h'")
	e.pool.Reset()
	i := e.serve("fossology: {listen: \"127.0.0.1:0\"}\n" + agents(
		"type: quick, dialect: fossology, command: ["+e.foss("quick", ":")+"]",
		"type: long, dialect: fossology, command: ["+e.foss("long", `echo up >>"$DIR/up"; sleep 1000`)+"]"))
	f := i.port()

	// A row waits for its moment, which `database` ends.
	quick := e.queued("quick", "1", "no")
	if got := e.state(quick); got != "scheduled" {
		t.Errorf("before it says database, the job is %s", got)
	}
	if got := f.say("database"); got != "" {
		t.Errorf("database is answered with %q", got)
	}
	e.waitState(quick, "succeeded")
	if got := f.say("agents"); got != "quick long \n" {
		t.Errorf("agents: %q", got)
	}

	// What was paused before it began waits, whatever is said, until restart.
	long, held, killed := e.queued("long", "1", nil), e.queued("long", "2", nil), e.queued("long", "3", nil)
	if got := f.say(fmt.Sprint("pause ", held)); got != "" || e.state(held) != "held" {
		t.Errorf("pause: %q, and it is %s", got, e.state(held))
	}
	if got := value[string](e, "select jq_endtext from fossology.jobqueue where jq_pk = $1", held); got != "Paused" {
		t.Errorf("paused, it reads %s", got)
	}
	f.say(fmt.Sprintf(`kill %d "Killed by fossy"`, killed))
	if got := value[string](e, "select concat_ws('|', jq_endtext, jq_end_bits, jq_schedinfo) from fossology.jobqueue where jq_pk = $1", killed); got != "Killed by fossy|2|killed: by fossy, before it began" {
		t.Errorf("killed, it reads %s", got)
	}
	f.say("database")
	e.waitState(long, "running")
	pgtest.Eventually(t, patience, "the agent works", func() bool { return len(e.lines("up")) == 1 })
	if got, want := f.runnable(), []string{fmt.Sprint(long), fmt.Sprint(held)}; !slices.Equal(got, want) {
		t.Errorf("status lists %v, want %v", got, want)
	}
	status := f.say(fmt.Sprint("status ", long))
	has(t, status, fmt.Sprintf("job:%d status:JOB_STARTED type:long, priority:0 running:1 finished:0 failed:0\n", long), " host:local type:long ")
	has(t, f.say("status"), "scheduler:", " jobs:2 ", fmt.Sprintf("job:%d status:JOB_PAUSED type:long, ", held))
	has(t, f.say("status 4711"), "ERROR: invalid job id = 4711\n")
	has(t, f.say(fmt.Sprint("pause ", long)), fmt.Sprintf("ERROR: job %d is running: ", long))
	has(t, f.say(fmt.Sprint("restart ", long)), fmt.Sprintf("ERROR: attempt to restart job %d failed", long))
	f.say(fmt.Sprintf("priority %d -50", held))
	if got := value[int](e, "select priority from bellhop.jobqueue where id = $1", held); got != -20 {
		t.Errorf("its priority is %d", got)
	}
	f.say(fmt.Sprintf(`kill %d "Killed by fossy"`, long))
	e.waitState(long, "failed")
	f.say(fmt.Sprint("restart ", held))
	e.waitState(held, "running")
	f.say(fmt.Sprintf(`kill %d "Killed by fossy"`, held))
	e.waitState(held, "failed")

	// As fo_cli says it, which does not wait for an answer.
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "stop")
	_ = conn.Close()
	if code := i.exit(); code != 0 {
		t.Errorf("stopped, it ends with %d", code)
	}
}

// The scheduler needs the port only where it is configured, and nobody beyond
// this machine reaches it unless that is said.
func TestFOSSologyPort_IsForThisMachine(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for listen, code := range map[string]int{
		`{listen: "0.0.0.0:24693"}`: 2, `{listen: ":24693"}`: 2, `{listen: "192.0.2.7:24693"}`: 2,
		`{listen: "0.0.0.0:24693", open_to_network: true}`: 0, `{listen: "127.0.0.1:24693"}`: 0, `{listen: "[::1]:24693"}`: 0,
		`{listen: "localhost:24693"}`: 0,
	} {
		r := e.run("config", "check", "-c", e.file("port.yaml", "fossology: "+listen+"\n", 0o600))
		if r.code != code || code != 0 && !strings.Contains(r.stderr, "open_to_network: true") {
			t.Errorf("%s: exit code %d\n%s%s", listen, r.code, r.stdout, r.stderr)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	i := e.serve(
		"fossology: {listen: \"" + taken.Addr().String() + "\"}\n" + agents("type: a, command: ["+e.says("a")+"]"))
	i.waitSaid("FOSSology's front end is not answered")
	e.waitState(e.insert("type, args", "a", "x"), "succeeded")
}

// A job that needs another comes in one transaction with that need, and its
// moment may end before what it needs has.
func TestFOSSologyPort_NeedsOutlastTheMoment(t *testing.T) {
	t.Parallel()
	e := front(t)
	i := e.serve("fossology: {listen: \"127.0.0.1:0\"}\n" + agents("type: a, dialect: fossology, command: ["+e.foss("a", `echo "$data" >>"$DIR/done"`)+"]"))
	f := i.port()
	tx, err := e.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := e.queued("a", "first", nil)
	for n, insert := range []string{`insert into fossology.jobqueue (jq_job_fk, jq_type, jq_args, jq_end_bits) values (1, 'a', 'second', 0)`,
		fmt.Sprintf(`insert into fossology.jobdepends (jdep_jq_fk, jdep_jq_depends_fk) values (currval('fossology.jobqueue_jq_pk_seq'), %d)`, first)} {
		if _, err := tx.Exec(t.Context(), insert); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.say("database")
	e.waitAll("succeeded 2")
	if got := e.lines("done"); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("they ran in the order %q", got)
	}
}
