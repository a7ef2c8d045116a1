package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestEdit_WhatWaitsAndByFilter: what is typed to change jobs that wait, and to order many at once.
func TestEdit_WhatWaitsAndByFilter(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.ok("migrate")
	id := fmt.Sprint(e.insert("type, args", "mail", "old"))
	for range 6 {
		e.insert("type, state, attempt, error, started_at, ended_at", "mail", "failed", 1, "exit status 3", "now", "now")
	}
	other := e.insert("type", "other")
	if got := e.ok("edit", id, "--priority", "-5", "--args", "new", "--at", "+1h"); got != id+" scheduled\n" {
		t.Errorf("it says %q", got)
	}
	if got := e.ok("edit", id, "--at", "now", "--hold"); got != id+" held\n" {
		t.Errorf("it says %q", got)
	}
	has(t, e.ok("show", id), "args              new", "priority          -5")
	e.ok("edit", id, "--release")

	// What would be done is said, and not done.
	has(t, e.ok("retry", "-t", "mail", "--dry-run"), "6 would be ready to run once more\n", "exit status 3")
	has(t, e.ok("cancel", "-t", "mail", "-s", "ready", "--dry-run", "-o", "json"), `"count": 1`, `"id": `+id)
	needs := strings.TrimSpace(e.ok("submit", "ship", "--after", id))
	has(t, e.ok("cancel", "-t", "mail", "--dry-run"), "1 would be ", "1 other job needs them: it would fail\n")
	has(t, e.ok("edit", "-t", "mail", "--hold", "--dry-run"), "1 other job waits for them\n")
	e.ok("cancel", needs)
	if n := value[int](e, "select count(*) from bellhop.jobqueue where state = 'failed'"); n != 6 {
		t.Errorf("a dry run has left %d", n)
	}
	if got := e.ok("retry", "-s", "failed", "-t", "mail"); got != "6 ready to run once more\n" {
		t.Errorf("it says %q", got)
	}
	if got := e.ok("edit", "-t", "mail", "--priority", "7"); got != "7 changed\n" {
		t.Errorf("it says %q", got)
	}
	if got := e.ok("cancel", "-t", "mail"); got != "7 cancelled, or asked to stop\n" {
		t.Errorf("it says %q", got)
	}
	if s := e.state(other); s != "ready" {
		t.Errorf("another type's job is %s", s)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"edit", id, "--priority", "1"}, 7, "only a waiting job can be changed"},
		{[]string{"edit", "99999", "--priority", "1"}, 3, ""},
		{[]string{"edit", id}, 2, "no change is given"},
		{[]string{"edit", id, "--priority", "20"}, 2, "numbers go from -20"},
		{[]string{"edit", id, "--at", "soon"}, 2, "or now"},
		{[]string{"edit", "--priority", "1"}, 2, "which jobs"},
		{[]string{"edit", id, "-t", "mail", "--priority", "1"}, 2, "not both"},
		{[]string{"edit", "-s", "running", "--priority", "1"}, 2, "held, blocked, scheduled or ready"},
		{[]string{"retry", "-s", "ready"}, 2, "failed, quarantined"},
		{[]string{"retry", id, "--dry-run"}, 2, "--dry-run goes with"},
		{[]string{"edit", fmt.Sprint(other), "--args", "a\nb"}, 2, "one_line"},
	} {
		r := e.run(c.args...)
		if r.code != c.code {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, r.code, c.code, r.stderr)
		}
		has(t, r.stderr, c.says)
	}
}
