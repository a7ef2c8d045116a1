package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestExplain_HowItEnded: why, where, by which child, and the last that was said.
func TestExplain_HowItEnded(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: a, command: ["+e.worker("agent", `case $line in die) echo "no toner" >&2; exit 3;; *bad*) exit 4;; esac`)+"]",
		"type: sh, command: [sh, -c], mode: exec, vars: [LANG], ends: {no_data: [64], skipped: [65]}",
		"type: foss, dialect: fossology, command: ["+e.foss("foss", "")+"]",
		"type: chatty, dialect: fossology, command: ["+e.script("chatty", `echo "warning: no locale"; sleep 1000`)+"]"))
	for _, c := range []struct {
		cause   string
		columns string
		values  []any
		words   []string
	}{
		{cause: "succeeded", columns: "type", values: []any{"a"}},
		{cause: "no_data", columns: "type, args", values: []any{"sh", "exit 64"}, words: []string{"nothing to do"}},
		{cause: "agent_died", columns: "type, args", values: []any{"a", "die"}, words: []string{"exit code 3"}},
		{cause: "agent_failed", columns: "type, args", values: []any{"sh", "echo no soap >&2; exit 7"}, words: []string{"exit code 7"}},
		{cause: "timeout", columns: "type, args, timeout", values: []any{"sh", "exec sleep 1000", 100 * time.Millisecond}, words: []string{"100ms"}},
		{cause: "quarantined", columns: "type, args, max_attempts", values: []any{"a", "die", 9}, words: []string{"3 agents have died"}},
		{cause: "msq_error", columns: "type, msq", values: []any{"a", "select n frm x"}, words: []string{"SQLSTATE 42601"}},
		{cause: "no_columns", columns: "type, msq", values: []any{"a", "select from generate_series(1, 3)"}},
		{cause: "items_failed", columns: "type, msq", values: []any{"a", "select * from (values ('good'), ('bad')) v (n)"}, words: []string{"1 of its items failed, 1 are done", "The first: item 2"}},
		{cause: "no_progress", columns: "type, msq", values: []any{"a", "select 1 as n limit 1"}, words: []string{"for ever"}},
		{cause: "command_failed", columns: "type, args", values: []any{"command", "reboot"}, words: []string{"unknown command"}},
		{cause: "args_too_long", columns: "type, args", values: []any{"sh", strings.Repeat("x", 300_000)}},
		{cause: "vars_refused", columns: "type, args, vars", values: []any{"sh", "true", `{"COLOUR": "red"}`}, words: []string{"COLOUR"}},
		{cause: "not_data", columns: "type, args", values: []any{"foss", "ENDLESS"}},
		{cause: "invalid_agent", columns: "type, args", values: []any{"chatty", "1"}, words: []string{"no locale"}},
	} {
		id := e.insert(c.columns, c.values...)
		e.eventually(c.cause+" is over", "select state in ('succeeded', 'failed', 'quarantined') from bellhop.jobqueue where id = $1", id)
		e.typed(e.because(id, c.cause, c.words...))
	}
	died := value[int64](e, "select min(id) from bellhop.jobqueue where args = 'die'")
	e.typed(e.because(died, "ran_on", "on local by a.", "Attempt 1 of 1"))
	has(t, e.typed(e.because(died, "last_words", "no toner")), "no toner")

	first := e.insert("type, args, held", "sh", "exit 65", true)
	after := value[int64](e, "select bellhop.submit('sh', 'true', after => array[$1::bigint])", first)
	e.ok("release", fmt.Sprint(first))
	e.waitState(after, "succeeded")
	e.typed(e.because(first, "skipped", "passed over"))
	has(t, e.typed(e.because(after, "skipped/passed_over", fmt.Sprintf("job %d", first))), fmt.Sprintf("job %d (sh) succeeded", first))
	has(t, e.ok("show", fmt.Sprint(after)), "ended_as          skipped")

	held := func() int64 { return e.insert("type, args, held", "sh", "true", true) }
	cancelled, killed := held(), held()
	e.ok("cancel", fmt.Sprint(cancelled))
	e.typed(e.because(cancelled, "cancelled"))
	e.sql("select bellhop.killjob($1, 'somebody')", killed)
	e.typed(e.because(killed, "killed", "somebody"))
	marked := held()
	e.sql("update bellhop.jobqueue set state = 'failed', error = 'the user gave up', ended_at = now() where id = $1",
		marked)
	e.typed(e.because(marked, "never_ran", "the user gave up"))
	for _, id := range []int64{cancelled, killed, marked} {
		e.waitState(id, "succeeded") // the advice was to try again
	}

	root := held()
	below := value[int64](e, "select bellhop.submit('sh', 'true', after => array[bellhop.submit('sh', 'true', after => array[$1::bigint])])", root)
	e.ok("cancel", fmt.Sprint(root))
	has(t, e.typed(e.because(below, "needs_failed", fmt.Sprintf("because of job %d", root))), fmt.Sprintf("job %d (sh) was cancelled", root))
	gone := held()
	orphan := value[int64](e, "select bellhop.submit('sh', 'true', after => array[$1::bigint])", gone)
	e.sql("delete from bellhop.jobqueue where id = $1", gone)
	e.waitState(orphan, "failed")
	e.typed(e.because(orphan, "needs_failed/deleted", fmt.Sprintf("job %d, which it needs, was deleted", gone)))
	x, y := held(), held()
	e.untriggered(fmt.Sprintf("insert into bellhop.dependency (job, needs) values (%d, %d), (%d, %d)", x, y, y, x))
	e.eventually("the cycle is found", "select exists (select from bellhop.jobqueue where id in ($1, $2) and error like 'these jobs wait%')", x, y)
	e.typed(e.because(value[int64](e, "select id from bellhop.jobqueue where id in ($1, $2) and error like 'these jobs wait%'", x, y), "needs_cycle"))

	// What takes very long to bring about; other tests see to it that it is written so.
	written := func(words string) int64 {
		id := held()
		e.sql("update bellhop.jobqueue set state = 'failed', attempt = 1, error = $2, items_failed = 9, items_done = 1, started_at = now(), ended_at = now() where id = $1", id, words)
		return id
	}
	e.typed(e.because(written("no_heartbeat: not a line for 10m0s"), "no_heartbeat", "10m0s"))
	e.typed(e.because(written("no_attachment: this job is not a row of an attached table"), "no_attachment"))
	e.typed(e.because(written("too_many_failures: more than 8 items failed"), "too_many_failures", "more than 8"))
}
