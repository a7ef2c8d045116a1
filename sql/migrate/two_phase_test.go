package migrate_test

import (
	"testing"

	"bellhop/pgdev/pgtest"
)

// A job and a prepared transaction do not go together, and this is what that looks like: PostgreSQL refuses to
// prepare what has rung, and an INSERT rings while an instance sleeps. What was prepared while none slept is a job
// at its commit.
func TestTwoPhase_PrepareIsRefusedWhileAnInstanceSleeps(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Cluster(t)
	admin := connect(t, cluster.URL())
	exec(t, admin, "alter system set max_prepared_transactions = 2")
	_ = admin.Close(t.Context())
	if err := cluster.Restart(t.Context(), "fast"); err != nil {
		t.Fatal(err)
	}
	admin = connect(t, cluster.URL())
	if _, err := plan(t).Run(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	prepare := func(name string) string {
		exec(t, admin, "begin")
		exec(t, admin, "insert into bellhop.jobqueue (type) values ('a')")
		code, _ := refusal(t, admin, "prepare transaction '"+name+"'")
		if code != "" {
			_, _ = admin.Exec(t.Context(), "rollback")
		}
		return code
	}
	if code := prepare("awake"); code != "" {
		t.Fatalf("while none sleeps: %s", code)
	}
	// An instance does not fall asleep past a prepared job: it waits for the gate.
	sleeper := connect(t, cluster.URL())
	const gate = "select pg_try_advisory_lock(7090192401229115393)"
	if one[bool](t, sleeper, gate) {
		t.Error("an instance fell asleep before a prepared job was committed")
	}
	exec(t, admin, "commit prepared 'awake'")
	if n := one[int](t, admin, "select count(*) from bellhop.jobqueue where state = 'ready'"); n != 1 {
		t.Errorf("%d jobs", n)
	}
	if !one[bool](t, sleeper, gate) {
		t.Fatal("the gate is not free")
	}
	if code := prepare("asleep"); code != "0A000" {
		t.Errorf("while an instance sleeps: %q, not 0A000", code)
	}
	if n := one[int](t, admin, "select count(*) from bellhop.jobqueue"); n != 1 {
		t.Errorf("%d jobs", n)
	}
}
