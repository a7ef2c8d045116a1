package page

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// recent keeps what changes slowly for a moment, for each role by itself: what
// one role may see is never shown to another.
type recent struct {
	mu      sync.Mutex
	kept    map[recentKey]recentValue
	changes atomic.Uint64 // of jobs, as far as this instance has heard
}

type recentKey struct{ role, what string }

type recentValue struct {
	value   any
	at      time.Time
	changes uint64
}

// recentMost is more than there are roles and things to keep.
const recentMost = 1000

// remembered gives what ask gave no longer ago than for.
func remembered[T any](p *Pages, role, what string, age time.Duration, ask func() (T, error)) (T, error) {
	return recall(p, recentKey{role, what}, age, false, ask)
}

// unchanged is remembered for what is asked anew as soon as a job is heard to have changed.
func unchanged[T any](p *Pages, k recentKey, age time.Duration, ask func() (T, error)) (T, error) {
	return recall(p, k, age, true, ask)
}

func recall[T any](p *Pages, k recentKey, age time.Duration, same bool, ask func() (T, error)) (T, error) {
	changes := p.recent.changes.Load() // before it is asked: what changes meanwhile may not be in it
	p.recent.mu.Lock()
	had, ok := p.recent.kept[k]
	p.recent.mu.Unlock()
	if ok && time.Since(had.at) < age && (!same || had.changes == changes) {
		return had.value.(T), nil
	}
	at := time.Now()
	v, err := ask()
	if err != nil {
		return v, err
	}
	p.recent.mu.Lock()
	defer p.recent.mu.Unlock()
	if p.recent.kept == nil || len(p.recent.kept) > recentMost {
		p.recent.kept = map[recentKey]recentValue{}
	}
	p.recent.kept[k] = recentValue{v, at, changes}
	return v, nil
}

// fleetChanged forgets what jobs run on: after the pause of a type, the next page shows it.
func (r *recent) fleetChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.kept, func(k recentKey, _ recentValue) bool { return k.what == fleetKey })
}

// fleetKey is under what the fleet is kept.
const fleetKey = "fleet"

// may is what a role may do: asked once in a while, since it decides only what is offered.
func (p *Pages) may(ctx context.Context, role string, l view.Look) (view.May, error) {
	return remembered(p, role, "may", 10*time.Second, func() (view.May, error) { return l.May(ctx) })
}

// fleet is what jobs run on.
type fleet struct {
	Instances []view.InstanceRow
	Hosts     []view.HostRow
	Agents    []view.AgentRow
	Paused    []view.PausedRow
}

// Slots is how many children there can be.
func (f fleet) Slots() (n int) {
	for _, h := range f.Hosts {
		n += h.Slots
	}
	return n
}

func (r *request) fleet() (fleet, error) {
	return remembered(r.pages, r.who.Role, fleetKey, 5*time.Second, func() (f fleet, err error) {
		if f.Instances, err = r.Look.Instances(r); err != nil {
			return f, err
		}
		if f.Hosts, err = r.Look.Hosts(r); err != nil {
			return f, err
		}
		if f.Agents, err = r.Look.Agents(r); err != nil {
			return f, err
		}
		f.Paused, err = r.Look.Paused(r)
		return f, err
	})
}

// types are those that agents serve, for filters.
func (r *request) types() ([]scheduler.TypeName, error) {
	f, err := r.fleet()
	if err != nil {
		return nil, err
	}
	var list []scheduler.TypeName
	seen := map[scheduler.TypeName]bool{}
	for _, a := range f.Agents {
		if !seen[a.Type] {
			seen[a.Type] = true
			list = append(list, a.Type)
		}
	}
	return list, nil
}

func (r *request) past(minutes int) ([]view.HistoryRow, error) {
	return remembered(r.pages, r.who.Role, "past", 5*time.Second, func() ([]view.HistoryRow, error) {
		return r.Look.History(
			r,
			r.now.Add(-time.Duration(minutes)*time.Minute).Truncate(time.Minute),
			time.Time{},
			nil,
		)
	})
}
