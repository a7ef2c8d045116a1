package intake

import (
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
)

// NamesAtOnce is how many names in run_on are looked at in one round.
const NamesAtOnce = 1000

// locality is what is known of the names in run_on: found out beside the hot
// path, so that a claim can ask for exact names and walk an index, and for none
// at all as long as no job names where it runs.
type locality struct {
	hosts   []scheduler.Locality
	locates bool
	found   map[string]found // names that wait
	// The names that wait and that each host answers to, its own among them: an
	// empty list means that a claim need not look for jobs that have one.
	named map[scheduler.HostName][]string
	asked map[string]bool // names of items that the user's query has to resolve
	after scheduler.RunOn // how far the last look at the queue went
	cycle int             // grows when a look begins at the first name
}

type found struct {
	hosts []scheduler.HostName // of this instance
	cycle int
	at    time.Time // when the user's query was asked
}

// Question is what the next look at the names that wait has to find out.
type Question struct {
	After scheduler.RunOn
	Known map[string]time.Time // names that need not be asked for, until then; zero: as long as they wait
	Asked []string             // names that items want to know of
}

// Wants reports whether the user's query is to be asked for a name that waits.
func (q Question) Wants(name string, now time.Time) bool {
	until, known := q.Known[name]
	return !known || !until.IsZero() && !now.Before(until)
}

// Located is what such a look has brought to light.
type Located struct {
	Keys    []scheduler.RunOn
	Located map[string][]scheduler.HostName
	Asked   []string // names that the user's query was asked for
}

func (in *Intake) question() *Question {
	l := &in.locality
	q := &Question{After: l.after, Asked: slices.Sorted(maps.Keys(l.asked)), Known: map[string]time.Time{}}
	for name, f := range l.found {
		if len(f.hosts) > 0 {
			q.Known[name] = time.Time{}
		} else if !f.at.IsZero() {
			q.Known[name] = f.at.Add(in.LocateAgain)
		}
	}
	return q
}

// Looked: a look was over without an answer; MSQ jobs are told what is known.
type Looked struct{}

func (m Looked) apply(in *Intake, _ time.Time, s *Step) { in.nowhere(s) }

func (m Located) apply(in *Intake, now time.Time, s *Step) {
	if in.locality.learn(m, now) {
		in.ring++
	}
	in.nowhere(s)
	s.Ask = in.question()
}

// want notes a name that the user's query has to be asked for.
func (l *locality) want(name string) {
	if _, known := l.hostsOf(name); known {
		return
	}
	if l.asked == nil {
		l.asked = map[string]bool{}
	}
	l.asked[name] = true
}

// learn takes what a look has brought. It reports whether there is something
// that a host can be asked for now and could not before.
func (l *locality) learn(m Located, now time.Time) (news bool) {
	if l.found == nil {
		l.found = map[string]found{}
	}
	add := func(name string) {
		f, known := l.found[name]
		if hosts := scheduler.HostsOf(l.hosts, name); hosts != nil {
			f.hosts = hosts
		} else if located, asked := m.Located[name]; asked {
			f.hosts, f.at = l.ours(located), now
		}
		f.cycle = l.cycle
		news = news || !known && len(f.hosts) > 0
		l.found[name] = f
	}
	for _, key := range m.Keys {
		add(key.Name)
	}
	for _, name := range m.Asked {
		add(name)
		delete(l.asked, name)
	}
	if len(m.Keys) < NamesAtOnce { // the next look begins anew
		l.after = scheduler.RunOn{}
		l.cycle++
		maps.DeleteFunc(l.found, func(_ string, f found) bool { return f.cycle < l.cycle-1 })
	} else {
		l.after = m.Keys[len(m.Keys)-1]
	}
	l.named = map[scheduler.HostName][]string{}
	for _, name := range slices.Sorted(maps.Keys(l.found)) {
		for _, host := range l.found[name].hosts {
			l.named[host] = append(l.named[host], name)
		}
	}
	return news
}

// ours keeps those hosts that this instance has.
func (l *locality) ours(hosts []scheduler.HostName) []scheduler.HostName {
	return slices.DeleteFunc(slices.Clone(hosts), func(name scheduler.HostName) bool {
		return !slices.ContainsFunc(l.hosts, func(p scheduler.Locality) bool { return p.Host == name })
	})
}

// hostsOf is where items that have a name can run. known is false while the
// user's query has not been asked.
func (l *locality) hostsOf(name string) (hosts []scheduler.HostName, known bool) {
	if hosts = scheduler.HostsOf(l.hosts, name); hosts != nil {
		return hosts, true
	}
	if !l.locates {
		return nil, true
	}
	f, known := l.found[name]
	return f.hosts, known && !f.at.IsZero()
}
