package config

import (
	"maps"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Retention is for how long what is over is kept; 0: for ever.
type Retention struct {
	Every   time.Duration // between two passes; 0: none is made
	States  map[string]time.Duration
	Types   map[string]map[string]time.Duration // of the jobs of a type, in place of States
	Keyed   time.Duration                       // jobs with a key
	Runs    map[string]time.Duration            // of workflows, with their jobs
	Archive string                              // a table
}

// DefaultRetention: a month for jobs that succeeded, half a year for those that an operator may want to look into.
// Jobs with a key stay: while such a job exists, its key is taken.
func DefaultRetention() Retention {
	const day = 24 * time.Hour
	return Retention{
		Every: time.Hour,
		States: map[string]time.Duration{
			"succeeded": 30 * day, "failed": 180 * day, "cancelled": 180 * day, "quarantined": 180 * day,
		},
		Runs: map[string]time.Duration{"succeeded": 30 * day, "skipped": 30 * day, "failed": 180 * day},
	}
}

// finalStates are how jobs end.
var finalStates = []string{"succeeded", "failed", "cancelled", "quarantined"}

// runEnds are how runs end.
var runEnds = []string{"succeeded", "failed", "skipped"}

func (r *reader) retention(n node, at string, to *Retention) {
	to.States, to.Runs = maps.Clone(to.States), maps.Clone(to.Runs)
	fields := append(r.keptStates(to.States, finalStates),
		field{name: "every", read: r.duration(&to.Every, maybeNone)},
		field{name: "keyed", read: r.duration(&to.Keyed, maybeNone)},
		field{name: "runs", read: func(n node, at string) { r.keptRuns(n, at, to.Runs) }},
		field{name: "types", read: func(n node, at string) { to.Types = r.keptTypes(n, at) }},
		field{name: "archive", read: func(n node, at string) {
			if s, ok := r.string(n, at); ok {
				to.Archive = s
			}
		}})
	r.mapping(n, at, fields)
}

// keptRuns reads how long runs are kept: one time for all, or by how they ended.
func (r *reader) keptRuns(n node, at string, to map[string]time.Duration) {
	if _, ok := n.(ast.MapNode); ok {
		r.mapping(n, at, r.keptStates(to, runEnds))
		return
	}
	var all time.Duration
	r.duration(&all, maybeNone)(n, at)
	for _, state := range runEnds {
		to[state] = all
	}
}

// keptStates reads how long is kept what ended so.
func (r *reader) keptStates(to map[string]time.Duration, states []string) (fields []field) {
	for _, state := range states {
		fields = append(fields, field{name: state, read: func(n node, at string) {
			var d time.Duration
			r.duration(&d, maybeNone)(n, at)
			to[state] = d
		}})
	}
	return fields
}

func (r *reader) keptTypes(n node, at string) map[string]map[string]time.Duration {
	const example = "write it like {license: {succeeded: 24h}}"
	m, ok := n.(ast.MapNode)
	if !ok {
		r.problem(n, example, "%s must hold types and times, not %s", at, kind(n))
		return nil
	}
	all := map[string]map[string]time.Duration{}
	for it := m.MapRange(); it.Next(); {
		name, ok := r.key(it.Key(), at)
		if !ok {
			continue
		}
		if all[name] != nil {
			r.problem(it.Key(), "", "duplicate key %q%s", name, in(at))
			continue
		}
		all[name] = map[string]time.Duration{}
		if value := r.resolve(it.Value()); value != nil {
			r.mapping(value, join(at, name), r.keptStates(all[name], finalStates))
		} else {
			r.problem(it.Key(), example, "%s says nothing", join(at, name))
		}
	}
	return all
}

// names are the types that it speaks of, in order.
func (k Retention) names() []string { return slices.Sorted(maps.Keys(k.Types)) }

// Each calls f for each type (empty: all others) and state, and how long such jobs are kept.
func (k Retention) Each(f func(typ, state string, d time.Duration)) {
	for _, state := range finalStates {
		for _, typ := range k.names() {
			if d, said := k.Types[typ][state]; said {
				f(typ, state, d)
			}
		}
		f("", state, k.States[state])
	}
}
