package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/pgdev/pgtest"
)

// TestInterrupt_SaysThatTheJobGoesOn: Ctrl-C at what waits ends no job.
func TestInterrupt_SaysThatTheJobGoesOn(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	one, two := s.id("a"), s.id("a")
	s.over(two, "succeeded", 0)
	third := "3" // what submit makes
	for n, c := range []struct {
		args []string
		says string
	}{
		{[]string{"wait", one, two}, "job " + one + " goes on; to wait again: bellhop wait " + one + "; to end: bellhop cancel " + one},
		{[]string{"logs", "-f", one}, "to wait again: bellhop logs -f " + one + "; to end: bellhop cancel " + one},
		{[]string{"exit-code", "-q", "-w", one}, "to wait again: bellhop exit-code -w " + one},
		{[]string{"submit", "b", "--wait"}, "job " + third + " goes on; to wait again: bellhop wait " + third},
	} {
		name := fmt.Sprintf("interrupted%d", n) // the server may not have noticed yet that the last one is gone
		cmd := exec.Command(os.Args[0], append(c.args, "--database-url", s.url+"&application_name="+url.QueryEscape(name))...)
		cmd.Env = append(os.Environ(), "BELLHOP_TEST_PROGRAM=1")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It looks again and again: it waits. The first look may come before it does.
		looks := map[time.Time]bool{}
		pgtest.Eventually(t, time.Minute, "it waits", func() bool {
			var at time.Time
			err := s.conn.QueryRow(context.WithoutCancel(t.Context()), `select query_start from pg_stat_activity
				where application_name = $1 and state = 'idle' and query ~ 'j.items_failed, j.waiting_for|bellhop.log'`, name).Scan(&at)
			looks[at] = looks[at] || err == nil
			return err == nil && len(looks) > 3 // the zero time is one, when there was no row yet
		})
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the code tells
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%v: exit code %d\n%s", c.args, code, stderr.String())
		}
	}
	has(t, s.ok("ls"), one, third)
}
