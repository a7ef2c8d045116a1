// Package migrate brings a database to the schema this binary knows: the baseline
// where there is no schema yet, numbered files that run once each, then scripts
// that carry no data and are simply put in place. Forward only, under an advisory
// lock, each step in a transaction of its own.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// lockKey is the advisory lock that two migrating processes meet at.
const lockKey = 0x62656c6c_686f7000 // "bellhop\0"

// ErrTooNew: the database was migrated by a newer bellhop than this one.
var ErrTooNew = errors.New("the database's schema is newer than this binary: install the newer bellhop")

// ErrTooOld: the database lacks migrations that this binary needs.
var ErrTooOld = errors.New("the database's schema is older than this binary: run `bellhop migrate`")

// ErrBeforeBaseline: the database's schema is older than the baseline: this binary lacks its next migrations.
var ErrBeforeBaseline = errors.New("the database's schema is too old for this binary's migrations")

// ErrEmpty: there is no bellhop schema in the database at all. It is an ErrTooOld,
// in words of its own: nothing there is old.
var ErrEmpty error = emptyError{}

type emptyError struct{}

func (emptyError) Error() string {
	return "the database has no bellhop schema yet: run `bellhop migrate`"
}

func (emptyError) Is(target error) bool { return target == ErrTooOld }

// WaitForOthers returns when no migration of the database runs. During one its schema is neither old nor new, so a
// Check means little. told is called first if there is something to wait for. The lock is the statement's own, so
// that it is not kept behind a pooler.
func WaitForOthers(ctx context.Context, conn *pgx.Conn, told func()) error {
	var nobody bool
	err := conn.QueryRow(ctx, "select pg_try_advisory_xact_lock_shared($1)", int64(lockKey)).Scan(&nobody)
	if err == nil && !nobody {
		told()
		_, err = conn.Exec(ctx, "select pg_advisory_xact_lock_shared($1)", int64(lockKey))
	}
	if err != nil {
		return fmt.Errorf("wait for other migrations: %w", err)
	}
	return nil
}

// Check says whether the database is what this binary needs: nil, ErrTooNew,
// ErrTooOld, ErrEmpty or ErrBeforeBaseline. A newer schema is fine where it says that binaries of this
// one's version may be started on it.
func (p Plan) Check(ctx context.Context, conn *pgx.Conn) error {
	at, err := version(ctx, conn)
	switch {
	case err != nil:
		return err
	case at == 0:
		return ErrEmpty
	case at < p.first():
		return p.beforeBaseline(at)
	}
	return admits(ctx, conn, at, p.Version())
}

// Admits is nil where a binary of this schema version may run on the database as it is.
func Admits(ctx context.Context, conn *pgx.Conn, binary int) error {
	at, err := version(ctx, conn)
	if err != nil {
		return err
	}
	return admits(ctx, conn, at, binary)
}

func admits(ctx context.Context, conn *pgx.Conn, at, binary int) error {
	switch {
	case at > binary:
		return admitted(ctx, conn, at, binary)
	case at < binary:
		return fmt.Errorf("%w (it is at %d, this binary needs %d)", ErrTooOld, at, binary)
	}
	return nil
}

// beforeBaseline says what to do with a schema that was made by migrations which the baseline has taken the place of.
func (p Plan) beforeBaseline(at int) error {
	return fmt.Errorf("%w: it is at %d, and they begin at %d. Nothing is changed. An older bellhop brings it up: "+
		"run the `bellhop migrate` of one whose `bellhop version` says schema %d to %d", ErrBeforeBaseline, at, p.first(), p.first(),
		lastWithHistory)
}

// admitted is nil where a schema that is newer than this binary names it among those that may be started.
func admitted(ctx context.Context, conn *pgx.Conn, at, binary int) error {
	var from int
	err := conn.QueryRow(ctx, "select max(coalesce(works_from, version)) from bellhop.schema_version").Scan(&from)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && refused.Code == "42703": // it does not say anything of it
		from = at
	case err != nil:
		return fmt.Errorf("read which binaries the schema works with: %w", err)
	}
	if binary >= from {
		return nil
	}
	return fmt.Errorf("%w (it is at %d and works with binaries from %d on, this binary knows %d)", ErrTooNew, at, from,
		binary)
}

// Newer is the database's version where that is newer than this binary's, else 0.
func (p Plan) Newer(ctx context.Context, conn *pgx.Conn) (int, error) {
	at, err := version(ctx, conn)
	if err != nil || at <= p.Version() {
		return 0, err
	}
	return at, nil
}

// Pending lists what Run would do now. On a newer schema that is nothing: an older binary's functions never replace
// newer ones.
func (p Plan) Pending(ctx context.Context, conn *pgx.Conn) ([]Step, error) {
	at, err := version(ctx, conn)
	if err != nil {
		return nil, err
	}
	if at > p.Version() {
		return nil, admitted(ctx, conn, at, p.Version())
	}
	if at > 0 && at < p.first() {
		return nil, p.beforeBaseline(at)
	}
	var steps []Step
	for _, s := range p.numbered {
		if s.Version > at {
			steps = append(steps, s)
		}
	}
	have := map[string]string{}
	if at > 0 {
		rows, err := conn.Query(ctx, "select name, checksum from bellhop.schema_script")
		if err != nil {
			return nil, fmt.Errorf("read the schema's scripts: %w", err)
		}
		var name, sum string
		if _, err := pgx.ForEachRow(rows, []any{&name, &sum}, func() error { have[name] = sum; return nil }); err != nil {
			return nil, fmt.Errorf("read the schema's scripts: %w", err)
		}
	}
	scripts, err := p.scripts()
	if err != nil {
		return nil, err
	}
	for _, s := range scripts {
		if have[s.Name] != s.sum {
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// Run brings the database up and returns what it did. A second Run does
// nothing; two at once wait for each other.
func (p Plan) Run(ctx context.Context, conn *pgx.Conn) ([]Step, error) {
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(lockKey)); err != nil {
		return nil, fmt.Errorf("wait for other migrations: %w", err)
	}
	defer func() {
		// On a broken connection the server lets go of the lock by itself.
		_, _ = conn.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", int64(lockKey))
	}()
	// Views, defaults and checks keep what they find when they are made: nothing but PostgreSQL's own objects and
	// ours.
	var theirs string
	if err := conn.QueryRow(ctx, "select current_setting('search_path')").Scan(&theirs); err != nil {
		return nil, fmt.Errorf("prepare to migrate: %w", err)
	}
	if _, err := conn.Exec(ctx, "select set_config('search_path', 'pg_catalog, pg_temp', false)"); err != nil {
		return nil, fmt.Errorf("prepare to migrate: %w", err)
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), "select set_config('search_path', $1, false)", theirs)
	}()
	if err := ownSchemas(ctx, conn); err != nil {
		return nil, err
	}
	steps, err := p.Pending(ctx, conn)
	if err != nil {
		return nil, err
	}
	for i, s := range steps {
		if err := s.runBesideOthers(ctx, conn); err != nil {
			return steps[:i], fmt.Errorf("migration %s: %w", s.Name, err)
		}
	}
	return steps, nil
}

// A step waits for a lock for no longer than lockWait, since all writers wait behind it; then it lets them pass,
// and tries again.
const (
	lockWait  = 2 * time.Second
	lockPause = time.Second
	lockTries = 20
)

func (s Step) runBesideOthers(ctx context.Context, conn *pgx.Conn) error {
	for try := 1; ; try++ {
		err := s.run(ctx, conn)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "55P03" && refused.Code != "40P01" { // no lock in time, a deadlock
			return err
		}
		if try == lockTries {
			return fmt.Errorf("%d times it waited %s for a lock that another transaction keeps (%s). "+
				"Nothing of this step is done, what came before it is. "+
				"End that transaction, or wait for its end, and say bellhop migrate again: %w",
				try, lockWait, lockedBy(ctx, conn), err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// lockedBy names the oldest transaction that has a lock on a table of bellhop's.
func lockedBy(ctx context.Context, conn *pgx.Conn) string {
	var who string
	err := conn.QueryRow(ctx, `
		select format('the oldest with one is of process %s, %s %s, since %s',
		              a.pid, a.usename, a.application_name, a.xact_start)
		  from pg_locks l
		  join pg_class c on c.oid = l.relation and c.relnamespace = 'bellhop'::regnamespace
		  join pg_stat_activity a on a.pid = l.pid
		  join pg_database d on d.oid = l.database and d.datname = current_database()
		 where l.granted and l.pid <> pg_backend_pid()
		 order by a.xact_start limit 1`).Scan(&who)
	if err != nil {
		return "it has ended by now"
	}
	return who
}

func (s Step) run(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("set local lock_timeout = %d", lockWait.Milliseconds())); err != nil {
			return err
		}
		if s.first {
			if _, err := tx.Exec(ctx, bookkeeping); err != nil {
				return err
			}
		}
		if _, err := tx.Conn().PgConn().Exec(ctx, s.Text).ReadAll(); err != nil {
			return err
		}
		record := "insert into bellhop.schema_version (version, name) values ($2, $1)"
		args := []any{s.Name, s.Version}
		if s.WorksFrom > 0 { // only then is the column sure to be there
			record = "insert into bellhop.schema_version (version, name, works_from) values ($2, $1, $3)"
			args = append(args, s.WorksFrom)
		}
		if s.Version == 0 {
			record = `insert into bellhop.schema_script (name, checksum) values ($1, $2)
			          on conflict (name) do update set checksum = excluded.checksum, applied_at = clock_timestamp()`
			args[1] = s.sum
		}
		_, err := tx.Exec(ctx, record, args...)
		return err
	})
}

// ownSchemas refuses a schema of bellhop's name that another role made beforehand, if there is no bellhop yet: the
// owner of a schema may replace its objects.
func ownSchemas(ctx context.Context, conn *pgx.Conn) error {
	var name, owner string
	err := conn.QueryRow(ctx, `select n.nspname, n.nspowner::regrole::text from pg_namespace n
		where n.nspname in ('bellhop', 'bellhop_attached') and to_regclass('bellhop.schema_version') is null
		  and n.nspowner <> (select r.oid from pg_roles r where r.rolname = current_user)
		limit 1`).Scan(&name, &owner)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look up the owners of the schemas: %w", err)
	}
	return fmt.Errorf("schema %s belongs to %s, which could replace bellhop's objects by others: drop it, or as a superuser: "+
		"alter schema %s owner to …", name, owner, name)
}

const bookkeeping = `
create schema if not exists bellhop;
create table bellhop.schema_version (version integer primary key, name text not null, applied_at timestamptz not null default clock_timestamp(), works_from integer);
create table bellhop.schema_script (name text primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp());`

// version returns the schema's version, 0 where there is none.
func version(ctx context.Context, conn *pgx.Conn) (int, error) {
	var at int
	err := conn.QueryRow(ctx, "select coalesce(max(version), 0) from bellhop.schema_version").Scan(&at)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && (refused.Code == "42P01" || refused.Code == "3F000") {
		return 0, nil // no such table, no such schema
	}
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return at, nil
}
