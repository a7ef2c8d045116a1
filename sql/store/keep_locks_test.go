package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

// Law: of a job that rests the locks are free, unless its agent said that it keeps them. Then they stay its own until
// its next run has ended, also those that it had asked for, and a limit counts it.
func TestKeepLocks_WhileAJobRests(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.passedAlone(e.locked("db:a=exclusive", "db:b=shared"))
	e.rests(first, scheduler.Resting{Event: "paid"})
	e.ends(e.passedAlone(e.locked("db:a=exclusive")))
	e.exec("select bellhop.emit('paid')")

	second := e.passedAlone(first.Claim.Job)
	e.exec("insert into bellhop.lock_grant (level, name, job, fence, mode, instance) values ('db', 'asked', $1, $2, 'exclusive', $3)",
		int64(second.Claim.Job), int64(second.Claim.Fence), int64(e.me))
	since := e.one("select since from bellhop.lock where name = 'a'")
	e.rests(second, scheduler.Resting{Event: "sent", KeepLocks: true})
	e.exec("update bellhop.jobqueue set priority = 10 where id = $1", int64(first.Claim.Job))
	alone, asked, reader := e.locked("db:a=exclusive"), e.locked("db:asked=exclusive"), e.locked("db:b=shared")
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{reader}) {
		t.Fatalf("while it rests a pass takes %v, want %v", got, reader)
	}
	if got := e.one("select string_agg(name || ' ' || mode, ', ' order by name) from bellhop.lock where job = $1", int64(first.Claim.Job)); got != "a exclusive, asked exclusive, b shared" {
		t.Errorf("it keeps %q", got)
	}
	for job, says := range map[scheduler.JobID]string{
		first.Claim.Job: "for as long as it takes, and no attempt is counted. It keeps its locks.",
		alone:           fmt.Sprintf("job %d (cat) holds db:a=exclusive since ", first.Claim.Job),
	} {
		if got := e.one("select bellhop.explain($1)", int64(job)); !strings.Contains(got, says) {
			t.Errorf("explain says %q, want %q", got, says)
		}
	}

	e.exec("select bellhop.emit('sent')")
	third := e.passedAlone(first.Claim.Job)
	if got := e.one("select string_agg(name, ' ' order by name) from bellhop.lock where fence = $1", int64(third.Claim.Fence)); got != "a asked b" {
		t.Errorf("its next run holds %q", got)
	}
	if got := e.one("select since from bellhop.lock where name = 'a'"); got != since {
		t.Errorf("it holds its lock since %s, want %s", got, since)
	}
	if got := e.pass(5); len(got) > 0 {
		t.Errorf("beside its next run a pass takes %v", got)
	}
	e.ends(third)
	if got := e.pass(5); len(got) != 2 || !slices.Contains(got, alone) || !slices.Contains(got, asked) {
		t.Errorf("when it has ended a pass takes %v, want %v and %v", got, alone, asked)
	}
}

// A job that is over holds nothing, however it ended, and instances are told. A next run that keeps nothing frees all.
func TestKeepLocks_UntilTheJobIsOver(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]string{
		"cancelled": "select bellhop.cancel($1)",
		"killed":    "select bellhop.killjob($1)",
		"deleted":   "delete from bellhop.jobqueue where id = $1",
		"edited":    "update bellhop.jobqueue set run_at = null, state = 'ready' where id = $1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			first := e.passedAlone(e.locked("db:a=exclusive"))
			e.rests(first, scheduler.Resting{Pause: time.Hour, KeepLocks: true})
			e.want(first.Claim.Job, "state", "scheduled")
			next := e.locked("db:a=exclusive")
			if got := e.pass(5); len(got) > 0 {
				t.Fatalf("while it rests a pass takes %v", got)
			}
			rings := e.listen().rings(func() { e.exec(over, int64(first.Claim.Job)) })
			if ends := name == "cancelled" || name == "killed"; ends && rings != 1 {
				t.Errorf("it rang %d times", rings)
			}
			if name == "edited" {
				e.rests(e.passedAlone(first.Claim.Job), scheduler.Resting{Pause: time.Hour})
			}
			e.passedAlone(next)
		})
	}
}
