package fossology

import (
	"context"
	"errors"
	"fmt"
)

// Desk does what the words ask for.
type Desk interface {
	// Look has jobs that wait for their moment started, and the queue looked at.
	Look(ctx context.Context) error
	// Kill ends a job as failed; the message names its author. Its state before; ErrNoJob.
	Kill(ctx context.Context, job int64, who string) (was string, err error)
	// Hold keeps a job from starting. Its state now: held, unless it was too late; ErrNoJob.
	Hold(ctx context.Context, job int64) (now string, err error)
	// Release lets a held job start. Its state before; ErrNoJob.
	Release(ctx context.Context, job int64) (was string, err error)
	// Prioritize gives a job, and those of its group that wait, a priority; ErrNoJob.
	Prioritize(ctx context.Context, job int64, level int) error
	// Jobs lists those that are not over, at most so many, or one in any state; ErrNoJob.
	Jobs(ctx context.Context, job int64, most int) ([]Job, error)
	// Hosts lists those of this scheduler.
	Hosts(ctx context.Context) ([]Host, error)
}

// ErrNoJob: there is no job of that number.
var ErrNoJob = errors.New("there is no such job")

// Job is a job as status shows it.
type Job struct {
	ID       int64
	State    string
	Type     string
	Priority int
	Host     string // empty: it runs nowhere
}

// Host is a host as load shows it.
type Host struct {
	Name    string
	Slots   int
	Running int
}

// old are the names that FOSSology's scheduler had for the states.
var old = map[string]string{"held": "JOB_PAUSED", "assigned": "JOB_STARTED", "running": "JOB_STARTED", "succeeded": "JOB_COMPLETE",
	"failed": "JOB_FAILED", "cancelled": "JOB_FAILED", "quarantined": "JOB_FAILED"}

// line is the job in the words of status.
func (j Job) line() string {
	state := old[j.State]
	if state == "" {
		state = "JOB_CHECKEDOUT"
	}
	count := func(is string) int {
		if state == is {
			return 1
		}
		return 0
	}
	return fmt.Sprintf("job:%d status:%s type:%s, priority:%d running:%d finished:%d failed:%d\n",
		j.ID, state, j.Type, j.Priority, count("JOB_STARTED"), count("JOB_COMPLETE"), count("JOB_FAILED"))
}

func (h Host) line() string {
	return fmt.Sprintf("host:%s address:%s max:%d running:%d\n", h.Name, h.Name, h.Slots, h.Running)
}
