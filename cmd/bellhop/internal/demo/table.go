package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
)

// demoType is the type of the demo's job.
const demoType = "license"

// demoQuery is the job: whatever has no outcome, until nothing is left. raw is
// NULL, and so not in the agent's line, but for paths that are not UTF-8.
const demoQuery = `SELECT id, path, raw, kind FROM demo.file WHERE licence IS NULL AND failure IS NULL ORDER BY id LIMIT 500`

// demoShow is what the table at the end shows.
const demoShow = `select coalesce(licence, 'failed: ' || failure) as licence, count(*) as files from demo.file group by 1 order by 2 desc, 1`

// demoMark is how the demo knows its own table again.
const demoMark = "bellhop demo"

// demoSchema is an app's own table: bellhop knows nothing of it.
const demoSchema = `
create schema if not exists demo;
create table if not exists demo.file (
  id          bigint generated always as identity primary key,
  path        text not null,        -- for people; what is not UTF-8 in it is shown as \x..
  raw         bytea,                -- the path, where that is not UTF-8
  kind        text not null,        -- licence: about a licence by its name; source: only the head counts
  licence     text,                 -- NULL: not looked at yet; none: it names no licence
  coverage    real,                 -- how much of the text is the licence's, in percent
  failure     text,                 -- why it could not be looked at
  received_at timestamptz,          -- when an agent got the line
  checked_at  timestamptz           -- when it wrote this
);
create index if not exists file_todo   on demo.file (id) where licence is null and failure is null;
create index if not exists file_failed on demo.file (id) where failure is not null;
comment on table demo.file is '` + demoMark + `';`

// demoTable is the table of files and the job over it.
type demoTable struct{ conn *pgx.Conn }

// demoJob is a job of the demo's; ID 0: there was nothing to do.
type demoJob struct {
	id      scheduler.JobID
	created time.Time     // on the database's clock
	todo    int64         // files without an outcome at its beginning
	took    time.Duration // from INSERT to its end
	agents  int           // how many were up at once
	state   scheduler.JobState
	error   string
	warm    *float64 // seconds from the INSERT of a single job until an agent had it; nil: not measured
}

// open makes the table where there is none, and sees to it that this is the only
// demo on it.
func (t demoTable) open(ctx context.Context) error {
	var alone, foreign bool
	var err error
	// A demo that has just ended keeps the lock until the server has noticed.
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err = t.conn.QueryRow(ctx, `select pg_try_advisory_lock(hashtext($1)),
		       to_regclass('demo.file') is not null and obj_description(to_regclass('demo.file')) is distinct from $1`, demoMark).Scan(&alone, &foreign)
		if err != nil || alone || ctx.Err() != nil || time.Now().After(deadline) {
			break
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("look for the table demo.file: %w", err)
	case !alone:
		return cli.Failed(cli.ExitState, "demo", "wait for its end, or name another --data-dir", "another demo runs on this database")
	case foreign:
		return cli.Failed(cli.ExitState, "demo", "leave out --database-url, or name another database",
			"there is a table demo.file in this database that is not the demo's")
	}
	if _, err := t.conn.Exec(ctx, demoSchema); err != nil {
		return fmt.Errorf("make the table demo.file: %w", err)
	}
	// What a demo that was killed has left in the queue is done by ours.
	return t.cancel(ctx)
}

// cancel ends the demo's jobs that are not over.
func (t demoTable) cancel(ctx context.Context) error {
	_, err := t.conn.Exec(ctx, `select bellhop.cancel(id, true) from bellhop.jobqueue
	  where type = $1 and (msq = $2 or run_on = $3) and state in ('held', 'blocked', 'scheduled', 'ready', 'assigned', 'running')`, demoType, demoQuery, demoHost)
	if err != nil {
		return fmt.Errorf("cancel the demo's jobs: %w", err)
	}
	return nil
}

// fill streams the files into the table, those that it does not know yet.
func (t demoTable) fill(ctx context.Context, first found, next func() (found, bool)) error {
	if _, err := t.conn.Exec(ctx, "create temporary table incoming (path text, raw bytea, kind text)"); err != nil {
		return fmt.Errorf("write the list of files: %w", err)
	}
	file, more := first, true
	_, err := t.conn.CopyFrom(ctx, pgx.Identifier{"incoming"}, []string{"path", "raw", "kind"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if !more {
				return nil, ctx.Err()
			}
			path, raw := storable(file.path)
			row := []any{path, raw, file.kind}
			file, more = next()
			return row, nil
		}))
	if err == nil {
		_, err = t.conn.Exec(ctx, `insert into demo.file (path, raw, kind)
		  select path, raw, kind from incoming i
		   where not exists (select from demo.file f where f.path = i.path and coalesce(f.raw, '') = coalesce(i.raw, ''))`)
	}
	if err == nil {
		_, err = t.conn.Exec(ctx, "drop table incoming; analyze demo.file")
	}
	if err != nil {
		return fmt.Errorf("write the list of files: %w", err)
	}
	return nil
}

// storable is a path as PostgreSQL can hold it: as text, and, where that does
// not say it all, the bytes.
func storable(path string) (string, []byte) {
	if utf8.ValidString(path) {
		return path, nil
	}
	var b strings.Builder
	for i, r := range path {
		if r == utf8.RuneError && !strings.HasPrefix(path[i:], "\uFFFD") {
			fmt.Fprintf(&b, `\x%02x`, path[i])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String(), []byte(path)
}

func (t demoTable) todo(ctx context.Context) (n int64, err error) {
	err = t.conn.QueryRow(ctx, "select count(*) from demo.file where licence is null and failure is null").Scan(&n)
	return n, err
}

// uncut is for statements that an interruption must not cut off: the connection
// would be lost with them, and is needed to put things in order.
func uncut(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), demoAnswer)
}

// submit is all that an app needs: an INSERT.
func (t demoTable) submit(ctx context.Context) (j demoJob, err error) {
	ctx, cancel := uncut(ctx)
	defer cancel()
	err = t.conn.QueryRow(ctx, "insert into bellhop.jobqueue (type, msq, run_on) values ($1, $2, $3) returning id, created_at",
		demoType, demoQuery, demoHost).Scan(&j.id, &j.created)
	if err != nil {
		return j, fmt.Errorf("submit the job: %w", err)
	}
	return j, nil
}

// demoProgress is how far a job is.
type demoProgress struct {
	state        scheduler.JobState
	done, failed int64
	error        string
	took         time.Duration
}

func (t demoTable) progress(ctx context.Context, j demoJob) (p demoProgress, err error) {
	ctx, cancel := uncut(ctx)
	defer cancel()
	var seconds float64
	err = t.conn.QueryRow(ctx, `select state, coalesce(items_done, 0) + coalesce(items_failed, 0),
	       coalesce(items_failed, 0) + (select count(*) from demo.file where failure is not null and checked_at >= created_at),
	       coalesce(error, ''), extract(epoch from coalesce(ended_at, clock_timestamp()) - created_at)::float8
	  from bellhop.jobqueue where id = $1`, int64(j.id)).Scan(&p.state, &p.done, &p.failed, &p.error, &seconds)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, cli.Failed(cli.ExitJobFailed, "demo", "bellhop demo", "job %d was deleted", j.id)
	}
	p.took = time.Duration(seconds * float64(time.Second))
	return p, err
}

// adopt writes down the files at which the scheduler gave up, since they took
// their agent with them each time: they have an outcome too.
func (t demoTable) adopt(ctx context.Context, j demoJob) error {
	_, err := t.conn.Exec(ctx, `update demo.file f
	    set failure = format('given up after %s tries: %s', i.tries, coalesce(i.error, 'no reason given')), checked_at = i.at
	   from bellhop.item i
	  where i.job = $1 and f.id = substring(i.line from '^id="(\d+)"')::bigint and f.licence is null and f.failure is null`, int64(j.id))
	if err != nil {
		return fmt.Errorf("write down what failed: %w", err)
	}
	return nil
}

// report counts what is in the table.
func (t demoTable) report(ctx context.Context, j demoJob) (r demoReport, err error) {
	err = t.conn.QueryRow(ctx, `select count(*), count(*) filter (where licence <> 'none'), count(*) filter (where licence = 'none'),
	       count(*) filter (where failure is not null), count(*) filter (where licence is null and failure is null),
	       extract(epoch from min(received_at) filter (where received_at >= $1) - $1)::float8
	  from demo.file`, j.created).Scan(&r.files, &r.found, &r.none, &r.failed, &r.open, &r.first)
	if err != nil {
		return r, fmt.Errorf("count what was found: %w", err)
	}
	rows, err := t.conn.Query(ctx, "select licence, count(*) from demo.file where licence <> 'none' group by 1 order by 2 desc, 1")
	if err == nil {
		r.licences, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Count])
	}
	if err == nil {
		rows, err = t.conn.Query(ctx, "select path, failure from demo.file where failure is not null order by id limit $1",
			failuresShown)
	}
	if err == nil {
		r.failures, err = pgx.CollectRows(rows, pgx.RowToStructByPos[demoFailure])
	}
	if err != nil {
		return r, fmt.Errorf("list what was found: %w", err)
	}
	return r, nil
}
