package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

// Attacher takes rows of attached tables. What it calls there is users' code,
// so that has a connection, and a login, of its own.
type Attacher struct {
	conn     *connection
	turns    *turns
	commands *connection // a turn may last: the start of a command does not wait for it
}

// NewAttacher returns a session for attached tables; it connects at its first use.
// turnURL is the login that touches the tables; empty: see turns.
func NewAttacher(url, turnURL string, ownLogin bool) (*Attacher, error) {
	conn, err := newConnection(url, "attachments", upkeep)
	if err != nil {
		return nil, err
	}
	t, err := newTurns(turnURL, ownLogin)
	if err != nil {
		return nil, err
	}
	commands, err := newConnection(url, "commands", upkeep)
	return &Attacher{conn, t, commands}, err
}

// Close ends the session's connections.
func (a *Attacher) Close() {
	a.conn.close()
	a.turns.close()
	a.commands.close()
}

func (a *Attacher) connections() []*connection { return []*connection{a.conn, a.commands} }

var (
	attachmentsSQL     = sql.Query("attachments")
	turnFailedSQL      = sql.Query("turn_failed")
	attachedCommandSQL = sql.Query("attached_command")
)

// attachment is what a turn is taken at.
type attachment struct {
	ID      int64
	Turn    string // its function
	Trouble string // why that cannot be called
}

// Turn takes a turn at every attachment. One whose table does not let itself be
// used is marked broken, and holds up no other. It returns how many attachments
// there are, how many rows are ready jobs now, and of how many runs the outcome
// was written.
func (a *Attacher) Turn(ctx context.Context) (t scheduler.Turn, err error) {
	list, err := rowsOf[attachment](ctx, a.conn, "look for attached tables", attachmentsSQL)
	if err != nil {
		return t, err
	}
	t.Attachments = len(list)
	for _, x := range list {
		one, err := a.take(ctx, x)
		if err != nil {
			return t, fmt.Errorf("take rows of attachment %d: %w", x.ID, err)
		}
		t = t.Add(one.taken, one.ended, one.ahead)
	}
	return t, nil
}

// take takes a turn at one attachment. It returns an error when that tells
// nothing about the user's table.
func (a *Attacher) take(ctx context.Context, x attachment) (all took, err error) {
	if x.Trouble != "" {
		return all, a.failed(ctx, x.ID, &trouble{why: x.Trouble})
	}
	for range 20 {
		t, err := a.turns.take(ctx, x)
		all.taken, all.ended, all.ahead = all.taken+t.taken, all.ended+t.ended, t.ahead
		var refused *trouble
		switch {
		case errors.As(err, &refused):
			return all, a.failed(ctx, x.ID, refused)
		case err != nil:
			return all, err
		case t.taken > 0 || t.aside == 0:
			return all, nil
		}
		// Rows that cannot be taken held up others, of which there may be more.
	}
	return all, nil
}

// failed says why an attachment does not run.
func (a *Attacher) failed(ctx context.Context, id int64, t *trouble) error {
	return a.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, turnFailedSQL, id, t.why, t.login)
		return err
	})
}

// Command gives the command of a row's job; ok is false where the job is none.
func (a *Attacher) Command(ctx context.Context, job scheduler.JobID) (c scheduler.Attached, ok bool, err error) {
	err = a.commands.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, attachedCommandSQL,
			int64(job)).Scan(&c.Command, &c.WorkDir, &c.LogDir, &c.Attachment, &c.Table, &c.Key, &c.Row)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("read the command of job %d: %w", job, err)
	}
	return c, true, nil
}
