package main

import (
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// An order for many is planned, carried out by the program itself, and undone.
func TestOperation_PlannedCarriedOutAndUndone(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql("insert into bellhop.jobqueue (type, key) select 'mail', 'order.' || g from generate_series(1, 2500) g")
	s.sql("insert into bellhop.jobqueue (type, key) values ('mail', 'bill.1')")
	s.fails(cli.ExitUsage, "--all", "operation", "plan", "hold")
	s.fails(cli.ExitUsage, "no other flag", "operation", "plan", "hold", "--all", "-t", "mail")
	s.fails(cli.ExitUsage, `no state "redy"`, "operation", "plan", "hold", "-s", "redy")
	s.fails(cli.ExitUsage, "one of cancel", "operation", "plan", "burn", "-t", "mail")
	s.fails(cli.ExitUsage, "the id of one", "operation", "start", "first")
	if list := objects(t, s.ok("operation", "ls", "-o", "json")); len(list) != 0 {
		t.Fatalf("a mistake has planned something: %v", list)
	}

	has(t, s.ok("operation", "plan", "hold", "-t", "mail", "--key", "order.", "--since", "1h"), "operation 1: Hold, planned",
		"type mail", "key begins with “order.”", "2,500 jobs would be changed", "bellhop operation start 1", "order.20")
	held := func(want string) {
		t.Helper()
		var n string
		if err := s.conn.QueryRow(t.Context(), "select count(*)::text from bellhop.jobqueue where state = 'held'").Scan(&n); err != nil || n != want {
			t.Errorf("%s jobs are held, not %s: %v", n, want, err)
		}
	}
	held("0")
	has(t, s.ok("operation", "start", "1"), "operation 1: Hold, done", "2500 of 2500 done", "bellhop operation undo 1")
	held("2500")
	s.fails(cli.ExitState, "operation 1 is done", "operation", "start", "1")
	has(t, s.ok("operation", "ls"), "Hold", "2500", "done")
	has(t, s.ok("operation", "undo", "1"), "2500 made what they were")
	held("0")
	s.fails(cli.ExitState, "", "operation", "undo", "1")

	// What is discarded changes nothing.
	has(t, s.ok("operation", "plan", "priority", "--priority", "-7", "--all"), "Priority -7", "every job", "2,501 jobs would be")
	has(t, s.ok("operation", "stop", "2"), "stopped")
	if out := s.ok("operation", "show", "2", "-o", "json"); !strings.Contains(out, `"done": 0`) {
		t.Errorf("it says %s", out)
	}
	for _, verb := range []string{"show", "start", "stop", "undo"} {
		s.fails(cli.ExitNotFound, "no operation 77", "operation", verb, "77")
	}
}
