package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql"
)

// Attacher takes rows of attached tables. What it calls there is users' code,
// so it has connections of its own.
type Attacher struct {
	link     *link
	commands *link // a turn may last: nobody who starts a command waits for it
}

// NewAttacher returns a desk for attached tables; it connects at its first use.
func NewAttacher(url string) (*Attacher, error) {
	l, err := newLink(url, "attacher", map[string]string{"statement_timeout": "10s"})
	if err != nil {
		return nil, err
	}
	commands, err := newLink(url, "commands", nil)
	return &Attacher{l, commands}, err
}

// Close ends the desk's connections.
func (a *Attacher) Close() {
	a.link.close()
	a.commands.close()
}

var (
	attachmentsSQL      = sql.Query("attachments")
	takeAttachedSQL     = sql.Query("take_attached")
	attachmentBrokenSQL = sql.Query("attachment_broken")
	attachedCommandSQL  = sql.Query("attached_command")
)

// Turn takes a turn at every attachment. One whose table does not let itself be
// used is marked broken, and holds up no other. It returns how many attachments
// there are, how many rows are ready jobs now, and of how many runs the outcome
// was written.
func (a *Attacher) Turn(ctx context.Context) (attachments, taken, ended int, err error) {
	var ids []int64
	err = a.link.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, attachmentsSQL)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err != nil {
		return 0, 0, 0, fmt.Errorf("look for attached tables: %w", err)
	}
	for _, id := range ids {
		some, over, err := a.take(ctx, id)
		if err != nil {
			return len(ids), taken, ended, fmt.Errorf("take rows of attachment %d: %w", id, err)
		}
		taken, ended = taken+some, ended+over
	}
	return len(ids), taken, ended, nil
}

// take takes a turn at one attachment. It returns an error when that tells
// nothing about the user's table.
func (a *Attacher) take(ctx context.Context, id int64) (taken, ended int, err error) {
	err = a.link.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, takeAttachedSQL, id).Scan(&taken, &ended)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || conn.IsClosed() {
			return err
		}
		if refused.Code != statementTimeout && transient(err) {
			return nil // somebody alters the table just now, or the server is going down: the next turn sees
		}
		why := refused.Message
		if refused.Hint != "" {
			why += " (" + refused.Hint + ")"
		}
		_, err = conn.Exec(ctx, attachmentBrokenSQL, id, why)
		return err
	})
	return taken, ended, err
}

// statementTimeout is what a turn ends with that takes too long: a table
// without an index on what waits, or a trigger of the user's.
const statementTimeout = "57014"

// Command is what is run for a row of an attached table.
type Command struct {
	Argv       []string
	WorkDir    string // empty: the scheduler's
	LogDir     string // empty: none
	Attachment string // its name
	Table      string
	Key        string // text form; of several columns, a JSON array
	Row        string // JSON
}

// Command gives the command of a row's job; ok is false where the job is none.
func (a *Attacher) Command(ctx context.Context, job scheduler.JobID) (c Command, ok bool, err error) {
	err = a.commands.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, attachedCommandSQL, int64(job)).Scan(&c.Argv, &c.WorkDir, &c.LogDir, &c.Attachment, &c.Table, &c.Key, &c.Row)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("read the command of job %d: %w", job, err)
	}
	return c, true, nil
}
