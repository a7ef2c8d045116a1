package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql"
)

// Steps keeps what runs have done: a step that is told to be kept is committed. What is told while all lanes are busy
// is kept together, in one transaction; a step that is alone waits for no other.
type Steps struct {
	free  chan *connection
	all   []*connection
	mu    sync.Mutex
	queue []*keptStep
	had   map[scheduler.Claim]stepCount
	ctx   context.Context // of the transactions: a caller may be gone before its step is kept
	stop  context.CancelFunc
}

// keptStep is a step that waits for a lane, or is under way. done has its error.
type keptStep struct {
	of   scheduler.Claim
	step scheduler.SavedStep
	done chan error
}

// stepLanes is how many transactions keep steps at once; others wait. Two keep more than four do, since more steps
// share each. A transaction keeps so many steps at most, and outputs of so many bytes.
const (
	stepLanes     = 2
	stepsAtOnce   = 128
	outputsAtOnce = 1 << 20
)

// NewSteps returns a desk for steps; it connects at its first use.
func NewSteps(url string) (*Steps, error) {
	s := &Steps{free: make(chan *connection, stepLanes), had: map[scheduler.Claim]stepCount{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
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

// Close ends its connections. Nothing is kept any more.
func (s *Steps) Close() {
	s.stop()
	for range s.all {
		lane := <-s.free
		lane.close()
	}
}

func (s *Steps) connections() []*connection { return s.all }

var (
	saveStepSQL    = sql.Query("save_step")
	saveStepsSQL   = sql.Query("save_steps")
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

// save has a step kept, by the transaction that its own caller begins or by another caller's.
func (s *Steps) save(ctx context.Context, of scheduler.Claim, step scheduler.SavedStep) error {
	own := &keptStep{of: of, step: step, done: make(chan error, 1)}
	s.mu.Lock()
	s.queue = append(s.queue, own)
	s.mu.Unlock()
	for {
		select {
		case err := <-own.done:
			return err
		case lane := <-s.free:
			list := s.next()
			if len(list) == 0 { // another lane has it
				s.free <- lane
				select {
				case err := <-own.done:
					return err
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			go func() {
				s.keepAll(lane, list)
				s.free <- lane
			}()
		case <-ctx.Done():
			s.mu.Lock()
			s.queue = slices.DeleteFunc(s.queue, func(k *keptStep) bool { return k == own })
			s.mu.Unlock()
			return context.Cause(ctx)
		}
	}
}

// next takes the steps of the next transaction.
func (s *Steps) next() (list []*keptStep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, bytes := 0, 0
	for n < len(s.queue) && n < stepsAtOnce {
		if bytes += len(s.queue[n].step.Output); n > 0 && bytes > outputsAtOnce {
			break
		}
		n++
	}
	list = slices.Clone(s.queue[:n])
	s.queue = slices.Delete(s.queue, 0, n)
	return list
}

// keepAll keeps steps in one transaction. A step that is refused, or whose job is locked, is kept alone after that, and
// waits for a lock for a moment only: none fails because of another, nor waits for it.
func (s *Steps) keepAll(lane *connection, list []*keptStep) {
	kept, err := s.keepTogether(lane, list)
	away := err != nil && transient(err)
	var alone []*keptStep
	for n, k := range list {
		switch {
		case away:
			k.done <- err
		case kept[n+1]:
			k.done <- nil
		default:
			alone = append(alone, k)
		}
	}
	for _, k := range alone {
		err := keepOne(s.ctx, lane, k.of, k.step)
		s.forget(k.of) // before the run can save another
		k.done <- err
	}
}

// keepTogether gives which steps were kept, by their place from 1: all but those whose job another transaction has.
func (s *Steps) keepTogether(lane *connection, list []*keptStep) (kept map[int]bool, err error) {
	var jobs, fences []int64
	var names []string
	var outputs []*string
	for _, k := range list {
		jobs, fences = append(jobs, int64(k.of.Job)), append(fences, int64(k.of.Fence))
		names, outputs = append(names, k.step.Name), append(outputs, outputOf(k.step))
	}
	had, sizes, taken := s.counts(list)
	kept = map[int]bool{}
	err = lane.use(s.ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, saveStepsSQL, jobs, fences, names, outputs, had, sizes)
		if err != nil {
			return err
		}
		done, err := pgx.CollectRows(rows, pgx.RowToStructByPos[placedStep])
		for _, d := range done {
			if kept[d.Place] = err == nil; err == nil {
				s.counted(list[d.Place-1].of, d, taken)
			}
		}
		return err
	})
	return kept, err
}

// outputOf is the output of a step as text; nil: it has none.
func outputOf(step scheduler.SavedStep) *string {
	if step.Output == nil {
		return nil
	}
	text := string(step.Output)
	return &text
}

func keepOne(ctx context.Context, lane *connection, of scheduler.Claim, step scheduler.SavedStep) error {
	return lane.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, saveStepSQL, int64(of.Job), int64(of.Fence), step.Name, outputOf(step))
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
