package e2e

import (
	"strconv"
	"strings"
	"testing"
)

// TestFilters_AsTheyAreTyped: add, list, info, replace and delete, and what that does
// to jobs of a real instance, also to those of plain SQL.
func TestFilters_AsTheyAreTyped(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 4}\n" + agents("type: pause, command: [sleep], mode: exec"))
	const pauses = `["opcode",["=","type","pause"]]`
	bad := e.run("filter", "add", "--action", "PAUSE", "--predicate", `["opcode",["~","type","a"]]`)
	if bad.code != 2 || !strings.Contains(bad.stderr, "character 12") {
		t.Errorf("a bad predicate: exit %d, %s", bad.code, bad.stderr)
	}
	unknown := e.run("filter", "replace", "late", "--action", "CONTINUE", "--predicate", `["opcode",["=","typ","a"]]`)
	if unknown.code != 0 || !strings.Contains(unknown.stderr, "field typ") {
		t.Errorf("an unknown field: exit %d, %s", unknown.code, unknown.stderr)
	}
	id := strings.TrimSpace(e.ok("filter", "add", "--action", "PAUSE", "--predicate", pauses, "--reason", "until noon"))
	job := strings.TrimSpace(e.ok("submit", "pause", "0"))
	paused := e.because(idOf(t, job), "filter_paused", id, "until noon")
	has(t, e.typed(paused), "PAUSE", "until noon")
	has(t, e.ok("filter", "list"), "late", id, "PAUSE", "until noon")
	has(t, e.ok("filter", "info", id), pauses[:9], "until noon")
	e.ok("filter", "replace", id, "--action", "RATE_LIMIT 1", "--predicate", pauses)
	e.ok("wait", job)
	first := strings.TrimSpace(e.ok("submit", "pause", "60"))
	e.eventually("one runs", "select state = 'running' from bellhop.jobqueue where id = $1::bigint", first)
	second := strings.TrimSpace(e.ok("submit", "pause", "0"))
	has(t, e.typed(e.because(idOf(t, second), "rate_limited/filter", id, "RATE_LIMIT 1")), "RATE_LIMIT 1")
	e.ok("filter", "replace", id, "--action", "REJECT", "--predicate", pauses, "--reason", "closed")
	has(t, e.typed(e.because(idOf(t, second), "filter_rejected", id, "closed")), "REJECT")
	refused := e.run("submit", "pause", "0")
	if refused.code == 0 || !strings.Contains(refused.stderr, id) || !strings.Contains(refused.stderr, "closed") {
		t.Errorf("submitted beside REJECT: exit %d, %s", refused.code, refused.stderr)
	}
	e.ok("filter", "delete", id)
	if gone := e.run("filter", "delete", id); gone.code != 3 {
		t.Errorf("deleted twice: exit %d, %s", gone.code, gone.stderr)
	}
	e.ok("cancel", "--now", first)
	e.ok("wait", strings.TrimSpace(e.ok("submit", "pause", "0")))
}

// idOf is an id as the command line prints it.
func idOf(t *testing.T, id string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFilters_WhyJobsWithLocksWait: what has no filter in it is explained as ever.
func TestFilters_WhyJobsWithLocksWait(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 4}\n" + agents("type: pause, command: [sleep], mode: exec"))
	holder := e.insert("type, args, locks, reasons", "pause", "60", []string{"db:a=exclusive"}, []string{"rate-limit:1:x"})
	e.waitState(holder, "running")
	e.typed(e.because(e.insert("type, args, locks", "pause", "0", []string{"db:a=shared"}), "lock_held", "db:a"))
	e.typed(e.because(e.insert("type, args, reasons", "pause", "0", []string{"rate-limit:1:x"}), "rate_limited", "rate-limit:1:x"))
	e.typed(e.because(e.insert("type, args, locks", "pause", "0", []string{"filter:a=shared"}), "locks_malformed", "bellhop's own"))
	// Nobody looks at a job of a type without an agent: what stands there stays.
	alone := e.insert("type, args, locks", "nobody", "0", []string{"db:z=exclusive"})
	e.sql("update bellhop.jobqueue set waiting_for = 'lock_reserved: job 1, which has waited longer' where id = $1", alone)
	e.typed(e.because(alone, "lock_reserved", "waited longer"))
	e.ok("cancel", "--now", strconv.FormatInt(holder, 10))
}
