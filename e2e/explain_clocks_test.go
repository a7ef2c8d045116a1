package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// clock is a sentence of explain that tells a time, and what came of it.
type clock struct {
	says  string
	told  time.Time
	came  time.Time
	early time.Duration // so much sooner it may come: the sentence says "at the latest", or rounds up
}

// When a cause tells of a time to come, its sentence has one of these.
var tellsATime = regexp.MustCompile(`\{in\}|again at \{at\}|at the latest|after \{lag\}|\{children\} An idle`)

// clocks brings about each of them. It reads the sentence first, and then waits for the event itself.
var clocks = map[string]func(e *env) clock{
	"scheduled": func(e *env) clock {
		e.serve(agents("type: sh, command: [sh, -c], mode: exec"))
		id := value[int64](e, "insert into bellhop.jobqueue (type, args, run_at) values ('sh', 'true', clock_timestamp() + interval '4 s') returning id")
		return e.toldAt(e.because(id, "scheduled"), "select fence > 0 from bellhop.jobqueue where id = $1", id)
	},
	"retry_delay": func(e *env) clock {
		e.serve(agents("type: sh, command: [sh, -c], mode: exec, retry: {first: 4s, most: 4s}"))
		id := e.insert("type, args, max_attempts", "sh", "exit 3", 2)
		return e.toldAt(e.because(id, "retry_delay"), "select fence > 1 from bellhop.jobqueue where id = $1", id)
	},
	"snoozed": func(e *env) clock {
		e.serve(agents("type: sh, command: [sh, -c], mode: exec, retry: {snooze: {75: 4s}}"))
		id := e.insert("type, args", "sh", "exit 75")
		return e.toldAt(e.because(id, "snoozed"), "select fence > 1 from bellhop.jobqueue where id = $1", id)
	},
	"sleeps": func(e *env) clock {
		e.serve(agents("type: sh, command: [sh, -c], mode: exec"))
		id := e.insert("type", "nap")
		e.sql("select bellhop.sleep(id, fence, '4 s') from bellhop.take('{nap}')")
		return e.toldAt(e.because(id, "sleeps"), "select state = 'ready' from bellhop.jobqueue where id = $1", id)
	},
	"awaits_event": func(e *env) clock {
		e.serve(agents("type: sh, command: [sh, -c], mode: exec"))
		id := e.insert("type", "nap")
		e.sql("select bellhop.await_event(id, fence, 'paid.42', '4 s') from bellhop.take('{nap}')")
		return e.toldAt(e.because(id, "awaits_event"), "select state = 'ready' from bellhop.jobqueue where id = $1", id)
	},
	"no_key": func(e *env) clock {
		keys, other := filepath.Join(e.dir, "keys"), filepath.Join(e.dir, "other")
		e.ok("key", "new", keys, "--id", "old")
		e.ok("key", "new", other, "--id", "new")
		e.serve("encryption: {keys: " + keys + "}\n" + agents("type: sh, command: [sh, -c], mode: exec"))
		id := value[int64](e, "select bellhop.submit('sh', $1)", e.sealed(other, "sh", "args", "true"))
		r := e.because(id, "no_key")
		told := e.instant(r.Sentence, `again at ([0-9-]+ [0-9:]+ UTC)`)
		return e.until(clock{says: r.Sentence, told: told},
			"select run_at > $2::timestamptz + interval '1 s' from bellhop.jobqueue where id = $1", id, told)
	},
	"no_resources": func(e *env) clock {
		e.serve(e.asker(2))
		e.insert("type, args", "ask", "lock node:a=exclusive node:b=exclusive; mark has; wait free")
		e.marked("has")
		id := e.insert("type, args", "ask", "any 2 node:a=exclusive node:b=exclusive; wait free")
		r := e.because(id, "no_resources")
		told := e.instant(r.Sentence, `again at ([0-9-]+ [0-9:]+ UTC)`)
		c := e.until(clock{says: r.Sentence, told: told},
			"select state in ('assigned', 'running') or run_at > $2::timestamptz + interval '1 s' from bellhop.jobqueue where id = $1", id, told)
		e.mark("free")
		return c
	},
	"next_slot": func(e *env) clock {
		e.ok("workflow", "apply", e.file("w.yaml", "workflow: often\nsensor: {cron: \"*/5 * * * * *\"}\nsteps: [{name: a, type: sh, args: \"true\"}]\n", 0o600))
		e.serve(agents("type: sh, command: [sh, -c], mode: exec"))
		r := e.workflowBecause("often", "next_slot")
		told := e.instant(r.Sentence, `slot is at ([0-9-]+ [0-9:]+ UTC)`)
		return e.until(clock{says: r.Sentence, told: told},
			"select exists (select from bellhop.run where workflow = 'often' and created_at >= $1)", told)
	},
	"instance_silent/one": func(e *env) clock {
		yaml := "instance: {heartbeat: 500ms, lag: 8s}\n" + agents("type: sh, command: [sh, -c], mode: exec")
		silent := e.serve(yaml)
		id := e.insert("type, args", "sh", "sleep 1000")
		e.waitState(id, "running")
		e.serve(yaml)
		silent.pause(e.t)
		r := e.because(id, "instance_silent/one")
		m := regexp.MustCompile(`heard of for ([0-9]+) s; after ([0-9]+) s it`).FindStringSubmatch(r.Sentence)
		if m == nil {
			e.t.Fatalf("%q tells no time", r.Sentence)
		}
		left := spoken(e.t, m[2]) - spoken(e.t, m[1])
		return e.until(clock{says: r.Sentence, told: time.Now().Add(left - time.Second)}, // whole seconds of silence
			"select instance is distinct from $2 from bellhop.jobqueue where id = $1", id, silent.id)
	},
	"no_room": func(e *env) clock { // an idle child is kept for its own type, and for no longer than a start takes
		slow := e.script("slow", "sleep 6\necho OK\nwhile IFS= read -r line; do echo OK; done")
		e.serve("limits: {min_ready: 1h}\nhosts:\n  - {name: local, slots: 1}\n" +
			agents("type: slow, command: ["+slow+"]", "type: quick, command: ["+e.worker("quick", "true")+"]"))
		e.insert("type, msq, repeat", "slow", "select clock_timestamp() as at from (select pg_sleep(9)) x", "until_empty")
		e.eventually("its child is up", "select exists (select from bellhop.child where type = 'slow' and state = 'READY')")
		id := e.insert("type", "quick")
		r := e.because(id, "no_room", "makes room for quick in ")
		told := time.Now().Add(promised(e.t, r.Sentence, `makes room for quick in ([0-9]+) s`))
		return e.until(clock{says: r.Sentence, told: told, early: 2 * time.Second}, // whole seconds, rounded up
			"select state <> 'ready' from bellhop.jobqueue where id = $1", id)
	},
	"not_taken": func(e *env) clock {
		e.serve(obeys)
		e.sql("create table things (id integer primary key, dispatch timestamptz)")
		e.ok("attach", "things", "--pool", "0", "--cmd", "true")
		e.sql("insert into things values (1)")
		tx, err := e.pool.Begin(e.t.Context())
		if err != nil {
			e.t.Fatal(err)
		}
		if _, err := tx.Exec(e.t.Context(), "select from things for update"); err != nil {
			e.t.Fatal(err)
		}
		e.sql("update bellhop.attachment set pool = 1")
		r := e.rowBecause("things", "1", "not_taken")
		if err := tx.Rollback(e.t.Context()); err != nil {
			e.t.Fatal(err)
		}
		within := promised(e.t, r.Sentence, `at the latest ([0-9]+) s`)
		return e.until(clock{says: r.Sentence, told: time.Now().Add(within), early: within},
			"select dispatch is not null from things where id = 1")
	},
	"row_set_aside": func(e *env) clock {
		return e.setAside("row_set_aside",
			"if tg_op = 'UPDATE' then raise exception 'not this row'; end if; return new;")
	},
	"outcome_pending/refused": func(e *env) clock {
		return e.setAside("outcome_pending/refused",
			"if new.outcome is not null then raise exception 'no outcome'; end if; return new;")
	},
}

// setAside attaches a table whose trigger does not let its row be changed.
func (e *env) setAside(cause, body string) clock {
	e.t.Helper()
	e.sql("create table things (id integer primary key, dispatch timestamptz, outcome text)")
	e.sql("create function refuse() returns trigger language plpgsql as $$ begin " + body + " end $$")
	e.sql("create trigger refuse before update on things for each row execute function refuse()")
	e.ok("attach", "things", "--pool", "1", "--status-col", "outcome", "--cmd", "true")
	e.sql("insert into things values (1)")
	e.serve(obeys)
	r := e.rowBecause("things", "1", cause)
	told := e.instant(r.Sentence, `again at ([0-9-]+ [0-9:]+ UTC)`)
	return e.until(clock{says: r.Sentence, told: told},
		"select coalesce(max(again_at) > $1::timestamptz + interval '2 s', true) from bellhop.set_aside", told)
}

// toldAt reads when a job is to start, and waits until it has.
func (e *env) toldAt(r reason, started string, id int64) clock {
	e.t.Helper()
	told := e.instant(r.Sentence, `(?:starts? at|until) ([0-9-]+ [0-9:]+ UTC)`)
	return e.until(clock{says: r.Sentence, told: told}, started, id)
}

// until waits for what a sentence tells of.
func (e *env) until(c clock, query string, args ...any) clock {
	e.t.Helper()
	pgtest.Eventually(e.t, patience, fmt.Sprintf("what %q tells of comes", c.says), func() bool {
		return value[bool](e, query, args...)
	})
	c.came = time.Now()
	return c
}

func (e *env) instant(sentence, pattern string) time.Time {
	e.t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(sentence)
	if m == nil {
		e.t.Fatalf("%q tells no time: %s", sentence, pattern)
	}
	return value[time.Time](e, "select $1::timestamptz", m[1])
}

// TestExplain_WhatItTellsOfComesThen: each sentence that tells when something will be, and when that then is.
func TestExplain_WhatItTellsOfComesThen(t *testing.T) {
	t.Parallel()
	for cause, brings := range clocks {
		t.Run(strings.ReplaceAll(cause, "/", ":"), func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			c := brings(e)
			late := c.came.Sub(c.told)
			t.Logf("%q: %+.1f s", c.says, late.Seconds())
			if late < -c.early || late > 10*time.Second { // a busy machine is late, and never early
				t.Errorf("it says %q, and that came %+.1f s after the time told", c.says, late.Seconds())
			}
		})
	}
}

// TestExplain_EachTimeToldIsHeld: a cause whose sentence tells a time to come stands in clocks.
func TestExplain_EachTimeToldIsHeld(t *testing.T) {
	t.Parallel()
	e := setup(t)
	rows, err := e.pool.Query(t.Context(), "select cause, sentence from bellhop.causes()")
	if err != nil {
		t.Fatal(err)
	}
	var cause, sentence string
	for rows.Next() {
		if err := rows.Scan(&cause, &sentence); err != nil {
			t.Fatal(err)
		}
		if _, held := clocks[cause]; !held && tellsATime.MatchString(sentence) {
			t.Errorf("no test waits for what %s tells of: %q", cause, sentence)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
