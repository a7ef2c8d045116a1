package store

import (
	"fmt"
	"slices"
	"strings"
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
	e.exec(`insert into bellhop.attempt_past (job, attempt, fence, started_at, ended_at)
		select id, 1, 1, zero + interval '12 s', zero + interval '13 s' from bellhop.jobqueue, at where type = 'dog'`)
	e.exec(`update bellhop.jobqueue set attempt = 2, host = 'local', child = 'dog.1', vars = '{"C": "7"}' where type = 'dog'`)
	look := view.NewLook(e.conn)
	read := func(since time.Duration, by string, operator bool) (got []string, err error) {
		var zero time.Time
		err = look.Ended(t.Context(), view.Past{Since: since, Most: 100, By: by, Operator: operator}, func(r view.EndedRow) {
			if zero.IsZero() {
				zero = r.Created
			}
			tries := []time.Duration{}
			for _, at := range r.Tries {
				tries = append(tries, at.Sub(zero))
			}
			got = append(got, fmt.Sprint(r.Group, r.Locks, r.Priority, " ", r.Created.Sub(zero), r.Due.Sub(zero),
				r.Began.Sub(zero), r.Ended.Sub(zero), len(r.Needs), tries, r.Host, r.Unknown))
		})
		return got, err
	}
	for _, role := range []string{"bellhop_operator", "bellhop_reader"} {
		e.exec("set role " + role)
		got, err := read(2*time.Hour, "", role == "bellhop_operator")
		e.exec("reset role")
		want := []string{"cat[customer:42=exclusive] 2 0s 0s 1s 3s 0 []false", "dog[x:a=shared] 2 5s 10s 20s 25s 0 [12s 13s]localfalse"}
		if role == "bellhop_reader" { // it sees no arguments
			want[0] = "cat[customer:?=exclusive] 2 0s 0s 1s 3s 0 []true"
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\n%q", role, err, got)
		}
	}
	for by, want := range map[string]string{"vars.C": "7[", "share": "["} {
		if got, err := read(2*time.Hour, by, true); err != nil || len(got) != 2 || !strings.HasPrefix(got[1], want) {
			t.Errorf("by %s: %v %q", by, err, got)
		}
	}
	e.exec("set role bellhop_reader")
	if _, err := read(time.Hour, "", true); err == nil {
		t.Error("a reader sees arguments")
	}
	e.exec("reset role")
}
