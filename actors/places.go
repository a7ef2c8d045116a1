package actors

import (
	"context"
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
)

// keysAtOnce is how many names in run_on are looked at in one round.
const keysAtOnce = 1000

// places is what the dispatcher knows of the names in run_on: found out beside
// the hot path, so that a claim can ask for exact names and walk an index, and
// for none at all as long as no job names a place.
type places struct {
	found map[string]found // names that wait
	// The names that wait and that each host answers to, its own among them: an
	// empty list means that a claim need not look for jobs that name a place.
	named map[scheduler.HostName][]string
	asked map[string]bool // names of items that the user's query has to place
	after scheduler.RunOn // how far the last look at the queue went
	cycle int             // grows when a look begins at the first name
}

type found struct {
	hosts []scheduler.HostName // of this instance
	cycle int
	at    time.Time // when the user's query was asked
}

// keyed is what a look at the names has brought to light.
type keyed struct {
	keys    []scheduler.RunOn
	located map[string][]scheduler.HostName
	asked   []string // names that the user's query was asked for
}

// keyQuestion is what a look has to find out.
type keyQuestion struct {
	ctx   context.Context
	after scheduler.RunOn
	fresh map[string]*found // names that need not be asked for
	asked []string          // names that items want to know of
}

// lookForKeys reads the names that wait in run_on, and asks the user's query
// for those that no pattern knows. Not in Receive: it waits for the database.
func (h *house) lookForKeys(q keyQuestion) (k keyed, err error) {
	if h.Localities == nil {
		return k, nil
	}
	if k.keys, err = h.Localities.Keys(q.ctx, q.after, keysAtOnce); err != nil {
		return k, err
	}
	ask := map[string]bool{}
	for _, key := range k.keys {
		if q.fresh[key.Name] == nil && h.Localities.Locates() && scheduler.Resolve(h.places(), key.Name) == nil {
			ask[key.Name] = true
		}
	}
	for _, name := range q.asked {
		ask[name] = true
	}
	if k.asked = slices.Sorted(maps.Keys(ask)); len(k.asked) > 0 {
		k.located, err = h.Localities.Locate(q.ctx, h.id(), k.asked)
	}
	return k, err
}

// locates reports whether a query of the user's says where names are.
func (h *house) locates() bool { return h.Localities != nil && h.Localities.Locates() }

func (h *house) places() []scheduler.Place {
	list := make([]scheduler.Place, len(h.Hosts))
	for i, spec := range h.Hosts {
		list[i] = scheduler.Place{Host: spec.Name, Serves: spec.Serves}
	}
	return list
}

// question is what the next look has to find out.
func (p *places) question(now time.Time, again time.Duration) (q keyQuestion) {
	q.after, q.asked, q.fresh = p.after, slices.Collect(maps.Keys(p.asked)), map[string]*found{}
	for name, f := range p.found {
		if len(f.hosts) > 0 || now.Sub(f.at) < again {
			q.fresh[name] = &f
		}
	}
	return q
}

// learn takes what a look has brought. It reports whether there is something
// that a host can be asked for now and could not before.
func (p *places) learn(h *house, k keyed, now time.Time) (news bool) {
	if p.found == nil {
		p.found = map[string]found{}
	}
	add := func(name string) {
		f, known := p.found[name]
		if hosts := scheduler.Resolve(h.places(), name); hosts != nil {
			f.hosts = hosts
		} else if located, asked := k.located[name]; asked {
			f.hosts, f.at = h.ours(located), now
		}
		f.cycle = p.cycle
		news = news || !known && len(f.hosts) > 0
		p.found[name] = f
	}
	for _, key := range k.keys {
		add(key.Name)
	}
	for _, name := range k.asked {
		add(name)
		delete(p.asked, name)
	}
	if len(k.keys) < keysAtOnce { // the next look begins anew
		p.after = scheduler.RunOn{}
		p.cycle++
		maps.DeleteFunc(p.found, func(_ string, f found) bool { return f.cycle < p.cycle-1 })
	} else {
		p.after = k.keys[len(k.keys)-1]
	}
	p.named = map[scheduler.HostName][]string{}
	for _, name := range slices.Sorted(maps.Keys(p.found)) {
		for _, host := range p.found[name].hosts {
			p.named[host] = append(p.named[host], name)
		}
	}
	return news
}

// ours keeps those hosts that this instance has.
func (h *house) ours(hosts []scheduler.HostName) []scheduler.HostName {
	return slices.DeleteFunc(slices.Clone(hosts), func(name scheduler.HostName) bool {
		return !slices.ContainsFunc(h.Hosts, func(spec HostSpec) bool { return spec.Name == name })
	})
}

// hostsOf is where items that name a place can run. known is false while the
// user's query has not been asked.
func (d *dispatcher) hostsOf(name string) (hosts []scheduler.HostName, known bool) {
	if hosts = scheduler.Resolve(d.h.places(), name); hosts != nil {
		return hosts, true
	}
	if !d.h.locates() {
		return nil, true
	}
	f, known := d.places.found[name]
	return f.hosts, known && !f.at.IsZero()
}
