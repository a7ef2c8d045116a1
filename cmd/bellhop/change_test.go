package main

import (
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

func TestCancel_EndsWhatWaitsAndAsksWhatRuns(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	waiting, running, done := s.id("a"), s.id("a", "--key", "run"), s.id("a")
	s.over(done, "succeeded", 0)
	s.sql("update bellhop.jobqueue set state = 'running', fence = 1, attempt = 1, started_at = clock_timestamp() where key = 'run'")

	has(t, s.ok("cancel", waiting, "run", done), waiting+" cancelled", running+" running, asked to stop", done+" has already ended: it succeeded")
	s.ok("cancel", "--now", running)
	has(t, s.ok("show", running, "-o", "json"), `"cancel_requested": true`)
	r := s.fails(cli.ExitNotFound, `no job 999, no job with the key "nope"`, "cancel", "999", waiting, "nope")
	has(t, r.stdout, waiting+" has already ended")
	s.fails(cli.ExitUsage, "which job", "cancel")
}

func TestRetry_OpensANewAttemptAndKeepsTheOld(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	id := s.id("a")
	has(t, s.fails(cli.ExitState, "only a finished job", "retry", id).stdout, "has not ended: it is ready")
	s.over(id, "failed", 3)
	if out := objects(t, s.ok("retry", id, "-o", "json")); len(out) != 1 || out[0]["state"] != "ready" {
		t.Errorf("got %v", out)
	}
	has(t, s.ok("show", id), "ready", "ATTEMPT", "1 of 2")
	s.fails(cli.ExitNotFound, "no job 77", "retry", "77")
}

func TestRetry_SaysBeforehandHowManyFollow(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	first := s.id("a")
	second := s.id("a", "--after", first, "--on-failure", "run")
	third := s.id("a", "--after", second, "--on-failure", "run")
	s.over(first, "failed", 3)
	s.over(second, "succeeded", 0)
	has(t, s.ok("retry", "--behind", first, "--dry-run"),
		first+" would run once more, and 1 job follows; 1 that waits for it goes on waiting")
	out := objects(t, s.ok("retry", "--behind", second, "--dry-run", "-o", "json"))
	if len(out) != 1 || out[0]["follow"] != 0.0 || out[0]["wait"] != 1.0 {
		t.Errorf("got %v", out)
	}
	r := s.fails(cli.ExitState, "is blocked, and only a finished job", "retry", "--behind", third, "--dry-run")
	has(t, r.stdout, "would be refused")
	has(t, s.ok("show", first), "failed") // nothing was done
	s.fails(cli.ExitUsage, "--dry-run goes with -s and -t, or with --behind", "retry", first, "--dry-run")
}

func TestRelease_LeavesOthersAlone(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	held, ready := s.id("a", "--hold"), s.id("a")
	has(t, s.ok("release", held, ready), held+" ready", ready+" is not held")
	s.fails(cli.ExitNotFound, "no job 77", "release", "77")
}

func TestKick_NotifiesWhoListens(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql("listen bellhop")
	if out := s.ok("kick"); out != "" {
		t.Errorf("it printed %q", out)
	}
	if _, err := s.conn.WaitForNotification(t.Context()); err != nil {
		t.Error(err)
	}
	s.fails(cli.ExitUsage, "takes no argument", "kick", "now")
}
