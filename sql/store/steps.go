package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql"
)

// Steps keeps what runs have done, each step in a transaction of its own: a step that is told to be kept is.
type Steps struct {
	free chan *connection
	all  []*connection
}

// stepLanes is how many steps are kept at once; others wait.
const stepLanes = 4

// NewSteps returns a desk for steps; it connects at its first use.
func NewSteps(url string) (*Steps, error) {
	s := &Steps{free: make(chan *connection, stepLanes)}
	for range stepLanes {
		conn, err := newConnection(url, "steps", upkeepByIndex())
		if err != nil {
			return nil, err
		}
		s.all = append(s.all, conn)
		s.free <- conn
	}
	return s, nil
}

// Close ends its connections.
func (s *Steps) Close() {
	for _, c := range s.all {
		c.close()
	}
}

func (s *Steps) connections() []*connection { return s.all }

var (
	saveStepSQL    = sql.Query("save_step")
	claimUndoneSQL = sql.Query("claim_undone")
)

// How often a step is tried that the database could not take.
const stepAgain, stepAgainMost = 20 * time.Millisecond, time.Second

// Save keeps a step of a run, and returns when that is committed. While the database is away it waits. Its error is
// that of ctx, or a *scheduler.StepRefused.
func (s *Steps) Save(ctx context.Context, of scheduler.Claim, step scheduler.SavedStep) error {
	for pause := stepAgain; ; pause = min(2*pause, stepAgainMost) {
		err := s.save(ctx, of, step)
		var refused *scheduler.StepRefused
		if err == nil || errors.As(err, &refused) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

func (s *Steps) save(ctx context.Context, of scheduler.Claim, step scheduler.SavedStep) error {
	var conn *connection
	select {
	case conn = <-s.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { s.free <- conn }()
	return conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var output *string
		if step.Output != nil {
			text := string(step.Output)
			output = &text
		}
		_, err := conn.Exec(ctx, saveStepSQL, int64(of.Job), int64(of.Fence), step.Name, output)
		var said *pgconn.PgError
		if !errors.As(err, &said) || transient(err) {
			return err
		}
		if said.Code == "BH004" {
			undone := false
			err := conn.QueryRow(ctx, claimUndoneSQL, int64(of.Job), int64(of.Fence)).Scan(&undone)
			if err == nil { // until the dispatcher has taken the job again
				return errNotAsserted
			} else if !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
		}
		why := said.Message
		if said.Hint != "" {
			why = fmt.Sprintf("%s; %s", why, said.Hint)
		}
		return &scheduler.StepRefused{Why: why}
	})
}
