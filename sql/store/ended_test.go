package store

import (
	"reflect"
	"testing"
	"time"

	"bellhop/sql/view"
)

// What has ended is a workload: when each could begin, with the locks of its agent, as
// far as the caller may see what these are made of.
func TestEnded_IsAWorkload(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("delete from bellhop.agent")
	e.exec(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host, locks)
		values ($1, 'cat', 'exec', 'auto', 'cat', 0, 0, array['customer:${args}=exclusive'])`, int64(e.me))
	e.exec("create temp table at as select clock_timestamp() - interval '1 hour' as zero")
	ended := func(typ, args, locks, created, runAt, started, again, over string) {
		e.exec(`insert into bellhop.jobqueue (type, args, locks, priority, created_at, run_at, started_at, attempt_at, ended_at, state, attempt)
			select $1, $2, nullif($3, '')::text[], 2, zero + $4::interval, zero + nullif($5, '')::interval, zero + $6::interval,
			       zero + nullif($7, '')::interval, zero + $8::interval, 'succeeded', 1 from at`,
			typ, args, locks, created, runAt, started, again, over)
	}
	ended("cat", "42", "", "0 s", "", "1 s", "", "3 s")
	ended("dog", "1", "{x:a=shared}", "5 s", "10 s", "12 s", "20 s", "25 s")
	ended("command", "pause", "", "0 s", "", "1 s", "", "3 s")
	ended("cat", "of long ago", "", "-3 days", "", "-2 days", "", "-1 day")
	e.insert("type", "'cat'") // it waits
	want := []view.EndedRow{
		{Type: "cat", Priority: 2, Locks: []string{"customer:42=exclusive"}, Waited: 1, Takes: 2},
		{Type: "dog", Priority: 2, Locks: []string{"x:a=shared"}, At: 10, Waited: 2, Takes: 5},
	}
	look := view.NewLook(e.conn)
	for _, role := range []string{"bellhop_operator", "bellhop_reader"} {
		e.exec("set role " + role)
		got, err := look.Ended(t.Context(), 2*time.Hour, 100, role == "bellhop_operator")
		e.exec("reset role")
		if role == "bellhop_reader" { // it sees no arguments
			want[0].Locks, want[0].Unknown = []string{"customer:?=exclusive"}, true
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n%+v", role, err, got)
		}
	}
	e.exec("set role bellhop_reader")
	if _, err := look.Ended(t.Context(), time.Hour, 100, true); err == nil {
		t.Error("a reader sees arguments")
	}
	e.exec("reset role")
}
