package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"bellhop/scheduler"
)

const (
	resourcesMost = 32        // of one host, or of one agent
	amountMost    = 1_000_000 // of one resource
)

// resourceName is what names of resources look like: they stand in sentences of explain.
var resourceName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,62}$`)

// resources reads names and amounts, each of at least so much.
func (r *reader) resources(to *scheduler.Resources, least int) func(node, string) {
	return func(n node, at string) {
		all := scheduler.Resources{}
		names := r.named(n, at, "amounts", "resources: {gpu: 2}", func(key node, name string, value node) {
			if hint := wrongResource(name); hint != "" {
				r.problem(key, hint, "%s: %q is not a valid name of a resource", at, name)
			} else if amount, ok := r.amount(key, name, value, at, least); ok {
				all[name] = amount
			}
		})
		if names > resourcesMost {
			r.problem(n, "", "%s has %d names: %d are the most", at, names, resourcesMost)
		}
		if len(all) > 0 {
			*to = all
		}
	}
}

// amount reads how much of a resource there is, or is taken.
func (r *reader) amount(key node, name string, value node, at string, least int) (amount int, ok bool) {
	if value == nil {
		r.problem(key, "write it like {"+name+": 2}", "%s has no value", join(at, name))
		return 0, false
	}
	amount = math.MinInt
	if r.count(&amount)(value, join(at, name)); amount == math.MinInt { // that was told
		return 0, false
	}
	if amount < least || amount > amountMost {
		r.problem(value, fmt.Sprintf("write a number from %d to %d", least, amountMost), "%s is %d", join(at, name), amount)
		return 0, false
	}
	return amount, true
}

// wrongResource is what to do about a name that no resource may have; empty: it may be one.
func wrongResource(name string) string {
	switch {
	case slices.Contains([]string{"slots", "memory", "cpu"}, strings.ToLower(name)):
		return "write " + strings.ToLower(name) + ": beside resources, or take another name"
	case !resourceName.MatchString(name):
		return "begin with a letter; use letters, digits and _ . -, up to 63 characters"
	}
	return ""
}

// slots reads how many slots a child takes.
func (r *reader) slots(to *int) func(node, string) {
	return func(n node, at string) {
		read := -1
		if r.count(&read)(n, at); read == 0 {
			r.problem(n, "write 1 or more", "%s is 0", at)
		}
		*to = max(1, read)
	}
}

// noteUses notes what the i-th agent takes of hosts. They may come later in the file.
func (r *reader) noteUses(given map[string]node, at string, mode Mode, i int) {
	for _, key := range []string{"slots", "resources"} {
		n := given[key]
		switch {
		case n == nil:
		case mode == ModeEngine:
			r.problem(n, "leave it out, or limit them with max", "%s.%s: the jobs of an engine take nothing of a host", at, key)
		default:
			r.resourceUses = append(r.resourceUses, resourceUse{n, join(at, key), key, i})
		}
	}
}

// resourceUse is an agent that takes resources, and where the file says so.
type resourceUse struct {
	node  node
	at    string
	key   string // slots or resources
	agent int    // its place among the agents
}

// checkResources looks for agents that take more than any host has that would take their jobs.
func (r *reader) checkResources(c *Config) {
	for _, use := range r.resourceUses {
		a := c.Agents[use.agent]
		if use.key == "slots" {
			r.checkSlots(c, use, a)
			continue
		}
		for _, name := range a.Resources.Names() {
			r.checkResource(c, use, a, name)
		}
		if len(a.Resources) > 1 && !hostFor(c, a, scheduler.Takes{Of: a.Resources}) && eachFits(c, a) {
			r.problem(use.node, "add what is missing to one of the hosts", "%s: no single host has all of it", use.at)
		}
	}
}

// checkSlots looks whether a host that takes the agent's type has so many slots. One without slots may get some later.
func (r *reader) checkSlots(c *Config, use resourceUse, a Agent) {
	most, host := 0, scheduler.HostName("")
	for _, h := range c.Hosts {
		terms := h.Terms()
		if terms.Room = 0; terms.Refuses(a.Type, a.FOSSology.Local, scheduler.Takes{}) == "" && h.Slots > most {
			most, host = h.Slots, h.Name
		}
	}
	if most > 0 && a.Slots > most {
		r.problem(use.node, fmt.Sprintf("write slots: %d, or raise it under hosts", most),
			"%s is %d, and the most that a host has is %d (%s)", use.at, a.Slots, most, host)
	}
}

func (r *reader) checkResource(c *Config, use resourceUse, a Agent, name string) {
	if fits(c, a, name) {
		return
	}
	most, host := -1, scheduler.HostName("")
	var known []string
	for _, h := range c.Hosts {
		for _, other := range h.Resources.Names() {
			if !slices.Contains(known, other) {
				known = append(known, other)
			}
		}
		has, there := h.Resources[name]
		if there && has > most && h.Terms().Refuses(a.Type, a.FOSSology.Local, scheduler.Takes{}) == "" {
			most, host = has, h.Name
		}
	}
	at := join(use.at, name)
	switch {
	case most >= 0:
		r.problem(use.node, fmt.Sprintf("write %s: %d, or raise it under hosts", name, max(most, 1)),
			"%s is %d, and the most that a host has is %d (%s)", at, a.Resources[name], most, host)
	case slices.Contains(known, name):
		r.problem(use.node, fmt.Sprintf("add resources: {%s: %d} to a host that takes this type", name, a.Resources[name]),
			"%s: no host that takes %s has this resource", at, a.Type)
	case len(known) == 0:
		r.problem(use.node, fmt.Sprintf("add resources: {%s: %d} to a host", name, a.Resources[name]),
			"%s: no host has any resources", at)
	default:
		r.problem(use.node, suggest(name, known), "%s: no host has a resource %q", at, name)
	}
}

// fits reports whether a host that takes the agent's type has enough of one resource.
func fits(c *Config, a Agent, name string) bool {
	return hostFor(c, a, scheduler.Takes{Of: scheduler.Resources{name: a.Resources[name]}})
}

func eachFits(c *Config, a Agent) bool {
	return !slices.ContainsFunc(a.Resources.Names(), func(name string) bool { return !fits(c, a, name) })
}

// hostFor reports whether a host takes the agent's type, and has what a child takes.
func hostFor(c *Config, a Agent, takes scheduler.Takes) bool {
	return slices.ContainsFunc(c.Hosts, func(h Host) bool { return h.Terms().Refuses(a.Type, a.FOSSology.Local, takes) == "" })
}

// Takes is what a child of the agent takes of its host.
func (a Agent) Takes() scheduler.Takes { return scheduler.Takes{Each: a.Slots, Of: a.Resources} }
