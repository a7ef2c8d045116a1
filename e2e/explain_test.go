package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// explained gives the codes of a job, and all that is said.
func (b *bed) explained(id int64) (codes []string, text string) {
	b.t.Helper()
	text = b.ok("explain", fmt.Sprint(id), "-o", "json")
	var said struct {
		Reasons []struct{ Code, Sentence, Next string }
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		b.t.Fatal(err)
	}
	for _, r := range said.Reasons {
		codes = append(codes, r.Code)
		if r.Sentence == "" || r.Next == "" {
			b.t.Errorf("job %d: %+v", id, r)
		}
	}
	return codes, text
}

// explains checks that a job is explained by these codes, in this order, and words.
func (b *bed) explains(id int64, codes string, words ...string) {
	b.t.Helper()
	got, text := b.explained(id)
	if strings.Join(got, " ") != codes {
		b.t.Errorf("job %d is explained by %v, want %s:\n%s", id, got, codes, text)
	}
	has(b.t, text, words...)
}

// TestExplain_CodesAreAllInTheDocs: what the function can say and what the page
// tells are the same codes; and none of them is missing from the tests here.
func TestExplain_CodesAreAllInTheDocs(t *testing.T) {
	t.Parallel()
	codes := func(path, pattern string) (list []string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			list = append(list, m[1])
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	function := codes("../sql/functions/explain.sql", `code := '([a-z_]+)';`)
	docs := codes("../docs/explain.md", "(?m)^\\| `([a-z_]+)` \\|")
	if !slices.Equal(function, docs) || len(function) < 30 {
		t.Errorf("the function says\n%v\nthe docs\n%v", function, docs)
	}
	for _, code := range codes("../sql/functions/why_waiting.sql", `return '([a-z_]+)`) {
		if !slices.Contains(function, code) {
			t.Errorf("%s may stand in waiting_for and is not explained", code)
		}
	}
	tests, err := os.ReadFile("explain_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range function {
		if !regexp.MustCompile(`(explains\(.*"[a-z_ ]*\b|says: "[a-z_ ]*\b)` + code + `\b`).Match(tests) {
			t.Errorf("no test makes a job say %s", code)
		}
	}
}

// TestExplain_WhatWaits: every reason that holds a job back.
func TestExplain_WhatWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alone := b.insert("type", "a")
	b.explains(alone, "no_instance", "bellhop serve")
	b.ok("cancel", fmt.Sprint(alone))

	i := b.serve("hosts:\n  - {name: east, slots: 1}\n  - {name: west, slots: 1}\nlimits: {deaths: 1, window: 1h, min_ready: 1h, kill_after: 1s, start_timeout: 1h}\n" + agents(
		"type: sleep, command: [sleep], mode: exec, max_per_host: 1", "type: dies, command: [/no/such/agent]",
		"type: slowstart, command: ["+b.script("slowstart", "sleep 1000")+"]", "type: flaky, command: [sh, -c], mode: exec"))
	dies := b.insert("type", "dies")
	b.eventually("it says so", "select coalesce(waiting_for, '') like 'agent_fails%' from bellhop.jobqueue where id = $1", dies)
	b.explains(dies, "agent_fails", "/no/such/agent")
	retried := b.insert("type, args, max_attempts, run_on", "flaky", "echo mother >&2; exit 3", 3, "east")
	// In one statement: its delay may be over before a command has started.
	b.eventually("it is tried again later, much later", `with later as (update bellhop.jobqueue set run_at = 'infinity' where id = $1 and state = 'scheduled' returning 1)
		select exists (select from later)`, retried)
	b.explains(retried, "retry_delay", "Attempt 1 of 3 failed", "mother")

	coming := b.insert("type", "slowstart")
	b.waitState(coming, "assigned")
	b.explains(coming, "child_starting", "coming up on")
	busy := b.insert("type, args", "sleep", "1000")
	b.waitState(busy, "running")
	b.eventually("its child is told of", "select exists (select from bellhop.child where job = $1)", busy)
	b.explains(busy, "running", "by sleep.1, pid ", "attempt 1 of 1")
	first, second := b.insert("type", "sleep"), b.insert("type", "sleep")
	b.explains(first, "no_room", fmt.Sprintf("(job %d)", busy), "max_per_host")
	b.explains(second, "no_room queued", "1 job of its type comes first")

	b.explains(b.insert("type, held", "sleep", true), "held", "bellhop release")
	b.explains(b.insert("type, run_at", "sleep", time.Now().Add(time.Hour)), "scheduled", "00:59:")
	b.explains(b.insert("type", "nobody"), "unknown_type", "dies, flaky, sleep, slowstart")
	b.explains(b.insert("type, run_on", "sleep", "mars"), "no_host", "mars", "There are: east, west")
	blocked := b.insert("type, held", "sleep", true)
	b.sql("update bellhop.jobqueue set state = 'blocked', held = false where id = $1", blocked)
	b.explains(blocked, "blocked")
	needing := value[int64](b, "select bellhop.submit('sleep', '0', after => array[$1::bigint])", busy)
	b.explains(needing, "blocked", fmt.Sprintf("It needs job %d (sleep) to be succeeded; that one is running.", busy), fmt.Sprintf("bellhop explain %d", busy))
	b.ok("pause", "sleep")
	b.explains(first, "paused", "Type sleep is paused since", "bellhop resume sleep")
	b.ok("resume")
	b.sql("update bellhop.host set state = 'down', trouble = 'connection refused'")
	b.explains(first, "host_down", "east: connection refused")
	b.sql("update bellhop.host set state = 'up', trouble = null")

	b.sql("update bellhop.instance set stop = 'finish' where id = $1", i.id)
	b.explains(busy, "running instance_stopping")
	b.sql("update bellhop.instance set stop = null where id = $1", i.id)
}

// TestExplain_WhileNobodyLooks: an instance that stands still.
func TestExplain_WhileNobodyLooks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.serve("instance: {heartbeat: 200ms, lag: 1h}\nhosts:\n  - {name: local, slots: 4}\n" + agents("type: a, command: [sleep], mode: exec"))
	runs := b.insert("type, args", "a", "1000")
	b.waitState(runs, "running")
	i.pause(t)
	b.sql("delete from bellhop.child")
	waits := b.insert("type", "a")
	b.explains(waits, "not_looked_at", "bellhop kick")
	b.sql("update bellhop.jobqueue set waiting_for = 'lock node:a' where id = $1", waits)
	b.explains(waits, "waits", "lock node:a")
	b.sql("update bellhop.instance set heartbeat_at = clock_timestamp() - interval '45 min' where id = $1", i.id)
	b.explains(runs, "running instance_silent", "00:45:0")
	b.ok("cancel", fmt.Sprint(runs))
	b.explains(runs, "running cancel_requested instance_silent", "bellhop cancel --now")
}

// pause makes an instance stand still until the test ends.
func (i *instance) pause(t *testing.T) {
	i.signal(syscall.SIGSTOP)
	pgtest.Eventually(t, patience, "it stands still", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", i.cmd.Process.Pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
	t.Cleanup(func() { i.signal(syscall.SIGCONT) })
}

// TestExplain_HowItEnded: why, where, by which child, and the last that was said.
func TestExplain_HowItEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.serve(agents("type: a, command: ["+b.worker("agent", `case $line in die) echo "no toner" >&2; exit 3;; *bad*) exit 4;; esac`)+"]",
		"type: sh, command: [sh, -c], mode: exec"))
	for _, c := range []struct {
		says    string
		columns string
		values  []any
		words   []string
	}{
		{says: "succeeded ran_on", columns: "type", values: []any{"a"}, words: []string{"on local by a."}},
		{says: "agent_died ran_on last_words", columns: "type, args", values: []any{"a", "die"}, words: []string{"no toner", "exit code 3"}},
		{says: "agent_failed ran_on last_words", columns: "type, args", values: []any{"sh", "echo no soap >&2; exit 7"}, words: []string{"no soap", "exit code 7"}},
		{says: "timeout ran_on", columns: "type, args, timeout", values: []any{"sh", "exec sleep 1000", 100 * time.Millisecond}, words: []string{"100ms"}},
		{says: "quarantined ran_on last_words", columns: "type, args, max_attempts", values: []any{"a", "die", 9}, words: []string{"3 agents have died"}},
		{says: "msq_error ran_on", columns: "type, msq", values: []any{"a", "select n frm x"}, words: []string{"SQLSTATE 42601"}},
		{says: "items_failed ran_on", columns: "type, msq", values: []any{"a", "select * from (values ('good'), ('bad')) v (n)"}, words: []string{"1 of its items failed, 1 are done", "The first: item 2"}},
		{says: "no_progress ran_on", columns: "type, msq", values: []any{"a", "select 1 as n limit 1"}, words: []string{"for ever"}},
		{says: "command_failed ran_on last_words", columns: "type, args", values: []any{"command", "reboot"}, words: []string{"unknown command"}},
	} {
		id := b.insert(c.columns, c.values...)
		b.eventually("it is over", "select state in ('succeeded', 'failed', 'quarantined') from bellhop.jobqueue where id = $1", id)
		b.eventually("what was said is kept", "select $2 !~ 'last_words' or exists (select from bellhop.log where job = $1)", id, c.says)
		b.explains(id, c.says, c.words...)
	}
	held := b.insert("type, held", "a", true)
	b.ok("cancel", fmt.Sprint(held))
	b.explains(held, "cancelled", "bellhop retry")
	held = b.insert("type, held", "a", true)
	b.sql("select bellhop.killjob($1, 'somebody')", held)
	b.explains(held, "killed", "somebody")
	held = b.insert("type, held", "a", true)
	b.sql("update bellhop.jobqueue set state = 'failed', error = 'needs_failed: job 7 failed', ended_at = now() where id = $1", held)
	b.explains(held, "needs_failed", "job 7")

	// The same in SQL, and nothing of what agents said for those who may not read it.
	died := value[int64](b, "select min(id) from bellhop.jobqueue where args = 'die'")
	has(t, value[string](b, "select bellhop.explain($1)", died), fmt.Sprintf("job %d (a) is failed\n  agent_died: ", died), "\n    -> bellhop logs -e ", "no toner")
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	var text string
	if _, err := tx.Exec(t.Context(), "set local role bellhop_reader"); err != nil {
		t.Fatal(err)
	}
	if err := tx.QueryRow(t.Context(), "select bellhop.explain($1)", died).Scan(&text); err != nil || !strings.Contains(text, "agent_died") || strings.Contains(text, "last_words") {
		t.Errorf("a reader is told %s (%v)", text, err)
	}
	if got := value[*string](b, "select bellhop.explain(999999)"); got != nil {
		t.Errorf("a job that is not there: %s", *got)
	}
	if r := b.run("explain", "999999"); r.code != 3 {
		t.Errorf("explain of what is not there: %+v", r)
	}
	has(t, b.ok("explain", fmt.Sprint(died)), fmt.Sprintf("job %d (a) is failed\n  agent_died: ", died), "\n    -> ")
}
