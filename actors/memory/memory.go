// Package memory is a queue without a database: the ports of the tree, for
// `serve -I` and for tests of the tree.
package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"bellhop/actors/port"
	"bellhop/scheduler"
)

// Queue is a queue without a database: the ports of the tree, for jobs
// that live no longer than the program. It keeps the promises that the tree
// leans on: what is claimed is claimed once, in (priority, id), under a fence.
type Queue struct {
	said func(scheduler.Entry)
	over func(*Job)

	mu   sync.Mutex
	last scheduler.JobID
	open map[scheduler.JobID]*Job // what is not over
	rang func()
	idle []waiter
}

// Job is a row of it.
type Job struct {
	scheduler.Job
	State scheduler.JobState
	RunAt time.Time // Scheduled
	Error string
	Code  int
}

// waiter waits until no more than most jobs of a type are open; an empty type means any.
type waiter struct {
	typ  scheduler.TypeName
	most int
	done chan struct{}
}

func New(said func(scheduler.Entry), over func(*Job)) *Queue {
	return &Queue{said: said, over: over, open: map[scheduler.JobID]*Job{}}
}

// Submit takes a job and rings.
func (m *Queue) Submit(typ scheduler.TypeName, args *string, priority int, vars scheduler.Vars) scheduler.JobID {
	m.mu.Lock()
	m.last++
	j := &Job{State: scheduler.Ready, Job: scheduler.Job{Type: typ, Line: scheduler.Line{
		Claim: scheduler.Claim{Job: m.last}, Priority: priority, Vars: vars, MaxAttempts: 1}}}
	if args != nil {
		j.HasArgs, j.Args = true, *args
	}
	m.open[m.last] = j
	id, ring := m.last, m.rang
	m.mu.Unlock()
	if ring != nil {
		ring()
	}
	return id
}

// Wait gives a channel that is closed when no more than most jobs of the type
// (empty: of any) are open.
func (m *Queue) Wait(typ scheduler.TypeName, most int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := waiter{typ, most, make(chan struct{})}
	m.idle = append(m.idle, w)
	m.settleWaiters()
	return w.done
}

// settleWaiters releases waiters that have nothing to wait for any more. mu is held.
func (m *Queue) settleWaiters() {
	m.idle = slices.DeleteFunc(m.idle, func(w waiter) bool {
		n := 0
		for _, j := range m.open {
			if w.typ == "" || j.Type == w.typ {
				n++
			}
		}
		if n > w.most {
			return false
		}
		close(w.done)
		return true
	})
}

// Later: it knows no limits, and claims look at everything.
func (m *Queue) Later() (limit time.Duration, ages time.Time, looked <-chan struct{}) {
	return 0, ages, nil
}

// Reserve: it knows no locks.
func (m *Queue) Reserve(context.Context) (n int, next time.Time, err error) {
	return 0, time.Time{}, nil
}

func (m *Queue) Claim(_ context.Context, me scheduler.InstanceID, d scheduler.Demand) ([]scheduler.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var jobs []scheduler.Job
	for _, t := range d.Types {
		var ready []*Job
		for _, j := range m.open {
			if j.Type == t.Type && j.State == scheduler.Ready && j.Priority <= t.MaxPriority {
				ready = append(ready, j)
			}
		}
		slices.SortFunc(ready, func(a, b *Job) int { return byTurn(a.Job, b.Job) })
		for _, j := range ready[:min(len(ready), t.Limit)] {
			jobs = append(jobs, j.Job)
		}
	}
	turn := func(j scheduler.Job) int {
		return d.Types[slices.IndexFunc(d.Types, func(t scheduler.TypeDemand) bool { return t.Type == j.Type })].Turn
	}
	slices.SortFunc(jobs, func(a, b scheduler.Job) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(turn(a), turn(b)), byTurn(a, b))
	})
	jobs = jobs[:min(len(jobs), d.Total)]
	for i := range jobs {
		j := m.open[jobs[i].Claim.Job]
		j.Fence++
		j.Attempt++
		j.Instance, j.Host, j.Assigned = me, d.Host, d.Assigned
		j.State = scheduler.Running
		if d.Assigned {
			j.State = scheduler.Assigned
		}
		jobs[i] = j.Job
	}
	return jobs, nil
}

func byTurn(a, b scheduler.Job) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Claim.Job, b.Claim.Job))
}

// Due is all of the upkeep that there is in memory: there are no orders, no names of hosts and no explanations of
// waiting jobs.
func (m *Queue) Due(context.Context) (n int, next time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next = -1
	now := time.Now()
	for _, j := range m.open {
		if j.State != scheduler.Scheduled {
			continue
		}
		if left := j.RunAt.Sub(now); left > 0 {
			if next < 0 || left < next {
				next = left
			}
			continue
		}
		j.State = scheduler.Ready
		n++
	}
	return n, next, nil
}

func (m *Queue) RunCommands(context.Context, scheduler.InstanceID) (s scheduler.ControlState, err error) {
	return s, nil
}

func (m *Queue) Keys(context.Context, scheduler.RunOn, int) ([]scheduler.RunOn, error) {
	return nil, nil
}

func (m *Queue) Locates() bool { return false }

func (m *Queue) Locate(context.Context, scheduler.InstanceID, []string) (map[string][]scheduler.HostName, error) {
	return nil, nil
}

func (m *Queue) Backlog(context.Context, []scheduler.TypeName, []scheduler.TypeName, []string) (
	[]scheduler.Backlog, []scheduler.TypeName, error) {
	return nil, nil, nil
}

func (m *Queue) ExplainWaiting(context.Context, scheduler.Looker) (scheduler.Explained, error) {
	return scheduler.Explained{}, nil
}

func (m *Queue) Claims(
	_ context.Context, me scheduler.InstanceID, _ []scheduler.Claim, _ bool,
) ([]scheduler.Hold, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var holds []scheduler.Hold
	for _, j := range m.open {
		if j.State == scheduler.Running || j.State == scheduler.Assigned {
			holds = append(holds, scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: j.Host})
		}
	}
	return holds, nil
}

// Nothing is ever lost in memory, so there is nothing to take again.

func (m *Queue) Reassert(context.Context, scheduler.InstanceID, []scheduler.Hold) (int, error) {
	return 0, nil
}

func (m *Queue) Assert(context.Context, scheduler.InstanceID, []scheduler.Hold) (a scheduler.Asserted, err error) {
	return a, nil
}

func (m *Queue) LookBack(context.Context, scheduler.InstanceID, scheduler.LookBack) (gone, again int, err error) {
	return 0, 0, nil
}

// Write takes what the tree owes.
func (m *Queue) Write(
	_ context.Context, _ scheduler.InstanceID, b scheduler.Batch, now time.Time,
) (stale []scheduler.Claim, released bool, err error) {
	for _, e := range b.Entries {
		m.said(e)
	}
	var over []*Job
	m.mu.Lock()
	for _, r := range b.Records {
		j := m.open[r.Claim.Job]
		if j == nil || j.Fence != r.Claim.Fence || j.State != scheduler.Running && j.State != scheduler.Assigned {
			stale = append(stale, r.Claim)
			continue
		}
		switch r.Kind {
		case scheduler.RecordStart:
			j.State = scheduler.Running
		case scheduler.RecordRequeue:
			j.State = scheduler.Ready
			j.Attempt--
			if r.Verdict.Delay > 0 {
				j.State, j.RunAt = scheduler.Scheduled, now.Add(r.Verdict.Delay)
			}
		case scheduler.RecordSettle:
			j.State, j.Error, j.Code = r.Verdict.State, r.Result.Told(), r.Result.ExitCode
			if j.State == scheduler.Scheduled {
				j.RunAt = now.Add(r.Verdict.Delay)
			}
			if j.State.Final() {
				over = append(over, j)
			}
		}
	}
	m.mu.Unlock()
	for _, j := range over {
		m.over(j)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range over { // only now: jobs that wait for them find them told
		delete(m.open, j.Claim.Job)
	}
	m.settleWaiters()
	return stale, false, nil
}

// Busy: no other session locks these jobs.
func (m *Queue) Busy(context.Context, []scheduler.JobID) ([]scheduler.JobID, error) { return nil, nil }

// Run is the bell: it rings when a job is submitted.
func (m *Queue) Run(
	ctx context.Context, rang func(inserted bool), _, _, _, beat func(), _, _ func([]scheduler.JobID),
) error {
	m.mu.Lock()
	m.rang = func() { rang(true) }
	m.mu.Unlock()
	rang(false)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		beat()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (m *Queue) Cut() {}

// Every submission here rings, so the gate may be shut at once.
func (m *Queue) Keep(ctx context.Context, shut func()) error { shut(); <-ctx.Done(); return nil }

func (m *Queue) Contended(context.Context) (bool, error) { return false, nil }

// This is the only instance, and no other can take it for dead.

func (m *Queue) Register(context.Context) (scheduler.InstanceID, error) { return 1, nil }
func (m *Queue) Beat(context.Context, scheduler.InstanceID) (scheduler.Beat, error) {
	return scheduler.Beat{}, nil
}

func (m *Queue) Dead(scheduler.Suspect) bool                   { return false }
func (m *Queue) Reap(context.Context, scheduler.Suspect) error { return nil }
func (m *Queue) Deaths(context.Context, scheduler.InstanceID, scheduler.TypeName, map[string]scheduler.Death) error {
	return nil
}

func (m *Queue) Draining(context.Context, scheduler.InstanceID, time.Time) error { return nil }

func (m *Queue) Suspects(context.Context, scheduler.InstanceID) ([]scheduler.Suspect, error) {
	return nil, nil
}

func (m *Queue) MarkGone(context.Context, scheduler.InstanceID, string, bool) (bool, int, error) {
	return false, 0, nil
}

func (m *Queue) Children(
	context.Context, scheduler.InstanceID, []scheduler.ChildReport, scheduler.AllBounds, time.Time,
) error {
	return nil
}

func (m *Queue) Trouble(context.Context, scheduler.InstanceID, scheduler.TypeName, map[string]scheduler.Account) error {
	return nil
}

func (m *Queue) HostState(
	context.Context, scheduler.InstanceID, scheduler.HostName, scheduler.HostState, string,
) error {
	return nil
}

func (m *Queue) Open(context.Context, string) (port.Rows, error) {
	return nil, errors.New("there is no database to query")
}
