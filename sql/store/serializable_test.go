package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
)

const serializationFailure = "40001"

// code is the SQLSTATE of an error of PostgreSQL; empty: there is no error.
func code(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// serializable does one transaction: first what it reads, then what it writes. The error is of any step, COMMIT too.
func serializable(ctx context.Context, conn *pgx.Conn, reads, writes string, args ...any) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, reads); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, writes, args...)
		return err
	})
}

// A claim after the app's snapshot does not make a plain INSERT fail. A key whose job has changed does, with 40001, and
// the next try finds that job.
func TestSerializable_AClaimFailsAnInsertOnlyByItsKey(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			app := e.connect()
			const submit = "select bellhop.submit('cat', key => 'k', once => 'open')"
			do := func(text string) string {
				_, err := app.Exec(t.Context(), text)
				return code(err)
			}
			keyed := e.insert("type, key", "'cat', 'k'")
			if c := do("begin isolation level " + level + "; select count(*) from bellhop.jobqueue"); c != "" {
				t.Fatal(c)
			}
			if jobs := e.claim(demand(1)); len(jobs) != 1 || jobs[0].Claim.Job != keyed {
				t.Fatalf("claimed %v", ids(jobs))
			}
			if c := do("insert into bellhop.jobqueue (type, args) values ('cat', 'plain')"); c != "" {
				t.Errorf("a plain INSERT after a claim: %s", c)
			}
			if c := do("savepoint s"); c != "" {
				t.Fatal(c)
			}
			if c := do(submit); c != serializationFailure {
				t.Errorf("the key of a job that was claimed since: %q", c)
			}
			if c := do("rollback to s; commit"); c != "" {
				t.Errorf("the commit: %s", c)
			}
			if c := do("begin isolation level " + level); c != "" {
				t.Fatal(c)
			}
			var again int64
			if err := app.QueryRow(t.Context(), submit).Scan(&again); err != nil || scheduler.JobID(again) != keyed {
				t.Errorf("the next try gives job %d, not %d: %v", again, keyed, err)
			}
			if c := do("commit"); c != "" {
				t.Error(c)
			}
			if jobs := e.claim(demand(9)); len(jobs) != 1 || jobs[0].Args != "plain" {
				t.Errorf("claimed %v", ids(jobs))
			}
		})
	}
}

// Two apps that have both read the queue and then insert: one of them fails with 40001, leaves nothing, and succeeds at
// its next try.
func TestSerializable_TwoAppsOneFailsAndTriesAgain(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	apps := []*pgx.Conn{e.connect(), e.connect()}
	const reads = "select count(*) from bellhop.jobqueue"
	for i, app := range apps {
		for _, text := range []string{"begin isolation level serializable", reads} {
			if _, err := app.Exec(t.Context(), text); err != nil {
				t.Fatalf("app %d: %v", i, err)
			}
		}
	}
	var failed []int
	insert := "insert into bellhop.jobqueue (type, args) values ('cat', $1)"
	errs := make([]error, len(apps))
	for i, app := range apps {
		_, errs[i] = app.Exec(t.Context(), insert, fmt.Sprint(i))
	}
	for i, app := range apps {
		done, err := app.Exec(t.Context(), "commit")
		if err = errors.Join(errs[i], err); err != nil || done.String() != "COMMIT" {
			if failed = append(failed, i); code(err) != serializationFailure {
				t.Errorf("app %d: %v", i, err)
			}
		}
	}
	if len(failed) != 1 {
		t.Fatalf("%v have failed, not one", failed)
	}
	if jobs := e.claim(demand(9)); len(jobs) != 1 || jobs[0].Args == fmt.Sprint(failed[0]) {
		t.Errorf("claimed %v", ids(jobs))
	}
	if err := serializable(t.Context(), apps[failed[0]], reads, insert, fmt.Sprint(failed[0])); err != nil {
		t.Error(err)
	}
	if jobs := e.claim(demand(9)); len(jobs) != 1 || jobs[0].Args != fmt.Sprint(failed[0]) {
		t.Errorf("claimed %v", ids(jobs))
	}
}

// Apps insert while an instance claims their jobs and writes outcomes. Whatever fails does so with 40001, each job that
// an app has committed runs once, and no other does.
func TestSerializable_AppsBesideAnInstanceLoseNothing(t *testing.T) {
	t.Parallel()
	const apps, each = 3, 40
	e := openEnv(t)
	inserted := make(chan error, apps)
	for a := range apps {
		app := e.connect()
		go func() { inserted <- insertsEach(t.Context(), app, a, each) }()
	}
	seen := map[string]int{}
	for open, last := apps, false; !last; {
		last = open == 0 // one look more when all is committed
		for jobs := e.claim(demand(20)); len(jobs) > 0; jobs = e.claim(demand(20)) {
			records := make([]scheduler.Record, len(jobs))
			for i, j := range jobs {
				seen[j.Args]++
				records[i] = succeeded(j)
			}
			e.mustWrite(records...)
		}
		select {
		case err := <-inserted:
			if open--; err != nil {
				t.Error(err)
			}
		case <-time.After(time.Millisecond): // the instance looks again
		}
	}
	for a := range apps {
		for n := range each {
			if args := fmt.Sprint(a, ".", n); seen[args] != 1 {
				t.Errorf("job %s has run %d times", args, seen[args])
			}
		}
	}
	if len(seen) != apps*each {
		t.Errorf("%d jobs have run, not %d", len(seen), apps*each)
	}
	const all = "select count(*) filter (where state = 'succeeded' and attempt = 1) || ' of ' || count(*) from bellhop.jobqueue"
	if got, want := e.one(all), fmt.Sprintf("%d of %[1]d", apps*each); got != want {
		t.Errorf("%s have succeeded at once, want %s", got, want)
	}
}

// insertsEach commits so many jobs of one app, one in each transaction, and tries each again that fails with 40001.
func insertsEach(ctx context.Context, app *pgx.Conn, a, each int) error {
	for n := 0; n < each; {
		err := serializable(ctx, app, "select count(*) from bellhop.jobqueue where state in ('ready', 'running')",
			"insert into bellhop.jobqueue (type, args) values ('cat', $1)", fmt.Sprint(a, ".", n))
		switch code(err) {
		case "":
			n++
		case serializationFailure:
		default:
			return fmt.Errorf("app %d, job %d: %w", a, n, err)
		}
	}
	return nil
}
