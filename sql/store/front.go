package store

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"bellhop/sql"
)

// Front does what FOSSology's front end asks for besides the rows that it
// writes. It has a connection of its own, so that no other session waits for it.
type Front struct{ conn *connection }

// NewFront returns a session for the front end; it connects at its first use.
func NewFront(url string) (*Front, error) {
	settings := map[string]string{"lock_timeout": lockWait}
	maps.Copy(settings, byIndex)
	conn, err := newConnection(url, "fossology", settings)
	return &Front{conn}, err
}

// Close ends the session's connection.
func (f *Front) Close() { f.conn.close() }

// ErrNoJob: there is no job of that number.
var ErrNoJob = errors.New("there is no such job")

var (
	frontLookSQL, frontHoldSQL, frontPrioritySQL = sql.Query(
		"front_look"), sql.Query("front_hold"), sql.Query("front_priority")
	frontJobsSQL, frontJobSQL, frontHostsSQL = sql.Query("front_jobs"), sql.Query("front_job"), sql.Query("front_hosts")
)

// Look ends the moment that rows of FOSSology's view wait, and rings.
func (f *Front) Look(ctx context.Context) error {
	return f.do(ctx, "look at the queue", func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, frontLookSQL); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "select bellhop.kick()")
		return err
	})
}

// Kill ends a job as failed, and gives the state that it has now.
func (f *Front) Kill(ctx context.Context, job int64, who string) (string, error) {
	return f.state(ctx, "select bellhop.killjob($1, $2)", job, who)
}

// Hold keeps a job from starting, and gives the state that it has now.
func (f *Front) Hold(ctx context.Context, job int64) (string, error) {
	return f.state(ctx, frontHoldSQL, job)
}

// Release lets a held job start, and gives the state that it had.
func (f *Front) Release(ctx context.Context, job int64) (was string, err error) {
	if was, err = f.state(ctx, "select j.state from bellhop.jobqueue j where j.id = $1", job); err != nil ||
		was != "held" {
		return was, err
	}
	_, err = f.state(ctx, "select bellhop.release($1)", job)
	return was, err
}

// state runs a statement that gives a job's state, for a job that is there.
func (f *Front) state(ctx context.Context, text string, args ...any) (state string, err error) {
	err = f.do(ctx, "change a job", func(ctx context.Context, conn *pgx.Conn) error {
		var s *string
		if err := conn.QueryRow(ctx, text, args...).Scan(&s); errors.Is(err, pgx.ErrNoRows) || err == nil && s == nil {
			return ErrNoJob
		} else if err != nil {
			return err
		}
		state = *s
		return nil
	})
	return state, err
}

// Prioritize gives a job, and those of its group that wait, a priority.
func (f *Front) Prioritize(ctx context.Context, job int64, priority int) error {
	return f.do(ctx, "change a priority", func(ctx context.Context, conn *pgx.Conn) error {
		var n int
		if err := conn.QueryRow(ctx, frontPrioritySQL, job, priority).Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			return ErrNoJob
		}
		_, err := conn.Exec(ctx, "select bellhop.kick()")
		return err
	})
}

// FrontJob is a job as the front end is told of it; Host: where it runs.
type FrontJob struct {
	ID       int64
	State    string
	Type     string
	Priority int
	Host     string
}

// Jobs lists at most so many that are not over; or one, whatever became of it.
func (f *Front) Jobs(ctx context.Context, job int64, most int) (jobs []FrontJob, err error) {
	text, arg := frontJobsSQL, int64(most)
	if job != 0 {
		text, arg = frontJobSQL, job
	}
	err = f.do(ctx, "list jobs", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, text, arg)
		if err == nil {
			jobs, err = pgx.CollectRows(rows, pgx.RowToStructByPos[FrontJob])
		}
		if err == nil && job != 0 && len(jobs) == 0 {
			return ErrNoJob
		}
		return err
	})
	return jobs, err
}

// FrontHost is a host as the front end is told of it.
type FrontHost struct {
	Name           string
	Slots, Running int
}

// Hosts lists those of live instances.
func (f *Front) Hosts(ctx context.Context) (hosts []FrontHost, err error) {
	err = f.do(ctx, "list hosts", func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, frontHostsSQL)
		if err == nil {
			hosts, err = pgx.CollectRows(rows, pgx.RowToStructByPos[FrontHost])
		}
		return err
	})
	return hosts, err
}

func (f *Front) do(ctx context.Context, what string, do func(context.Context, *pgx.Conn) error) error {
	err := f.conn.use(ctx, do)
	if err != nil && !errors.Is(err, ErrNoJob) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return err
}
