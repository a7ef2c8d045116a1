package config

import (
	"regexp"
	"strconv"
	"strings"

	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
)

// Host is a place where children run.
type Host struct {
	Name      scheduler.HostName
	Slots     int                 // children at once; 0: none for now
	Connect   []string            // the command that carries stdio there; empty: this machine
	Resources scheduler.Resources // what it has besides slots, such as gpu: 2
	Serves    []string            // what it answers to in run_on besides its name
	// OnlyTypes are the types it takes; empty: every one.
	OnlyTypes []string
	// OnlyPriorities are the priorities it takes, as numbers from -20 to 19 or
	// as priority names, in which * stands for any text and ? for one character;
	// empty: every one.
	OnlyPriorities []string
	// Takes says the same for a host that no file describes: rjmproc's. nil: see above.
	Takes *scheduler.Only
}

// Terms are what it asks of a type.
func (h Host) Terms() scheduler.Terms {
	terms := scheduler.Terms{Far: len(h.Connect) > 0, Room: h.Slots, Has: h.Resources}
	for _, t := range h.OnlyTypes {
		terms.Only = append(terms.Only, scheduler.TypeName(t))
	}
	return terms
}

// Only is what the host takes of that for which it has agents; nil: everything.
func (h Host) Only() *scheduler.Only {
	if h.Takes != nil || len(h.OnlyPriorities) == 0 {
		return h.Takes
	}
	only := &scheduler.Only{}
	var names []string
	for _, p := range h.OnlyPriorities {
		if n, err := strconv.Atoi(p); err == nil {
			only.Priorities = append(only.Priorities, n)
		} else {
			names = append(names, anyText.Replace(regexp.QuoteMeta(p)))
		}
	}
	if names != nil {
		only.Names = "^(" + strings.Join(names, "|") + ")$"
	}
	return only
}

var anyText = strings.NewReplacer(`\*`, ".*", `\?`, ".")

// remoteSlots is for a host whose processors cannot be counted from here.
const remoteSlots = 4

func (r *reader) hosts(n node, at string, to *[]Host) {
	*to = nil
	lines := map[scheduler.HostName]int{}
	r.each(n, at, "write it like - {name: local, slots: 4}", func(n node, at string) {
		h := Host{}
		given := r.mapping(n, at, r.hostFields(&h))
		if given["slots"] == nil {
			h.Slots = localSlots()
			if len(h.Connect) > 0 {
				h.Slots = remoteSlots
			}
		}
		if first := lines[h.Name]; first > 0 {
			r.problem(given["name"], "", "%s.name: a host %q is already on line %d", at, h.Name, first)
		} else if h.Name != "" {
			lines[h.Name], _ = position(given["name"])
		}
		*to = append(*to, h)
	})
}

func (r *reader) hostFields(h *Host) []field {
	return []field{
		{name: "name", required: true, read: func(n node, at string) {
			if s, ok := r.string(n, at); ok && r.checkHostName(n, at, s) {
				h.Name = scheduler.HostName(s)
			}
		}},
		{name: "slots", read: r.count(&h.Slots)},
		{name: "connect", read: r.argv(&h.Connect, "connect", "[ssh, big1]")},
		{name: "resources", read: r.resources(&h.Resources, 0)},
		{name: "serves", read: r.words(&h.Serves, `["srv:7"]`, nil)},
		{name: "only_types", read: r.words(&h.OnlyTypes, "[license, copyright]", func(n node, at, s string) bool {
			r.typesUsed = append(r.typesUsed, typeUse{node: n, at: at, name: s})
			return true
		})},
		{name: "only_priorities", read: r.words(&h.OnlyPriorities, "[-20, 0, urgent]", r.checkPriority)},
	}
}

// hostName is what names of hosts and instances look like: they stand between
// blanks on command lines and in the text of commands.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:@-]*$`)

func (r *reader) checkHostName(n node, at, s string) bool {
	if hostName.MatchString(s) {
		return true
	}
	r.problem(n, "use letters, digits and _ . : @ -, and begin with a letter, a digit or _", "%s: %q is not a valid name", at, s)
	return false
}

// priorityName is the text that may stand in a job's priority_name, or a pattern of it.
var priorityName = regexp.MustCompile(`^[A-Za-z*?][A-Za-z0-9*?_-]*$`)

func (r *reader) checkPriority(n node, at, s string) bool {
	p, err := strconv.Atoi(s)
	if err == nil && p >= grammar.LeastPriority && p <= grammar.MostPriority || priorityName.MatchString(s) {
		return true
	}
	r.problem(n, "write a number from -20 to 19, or a name", "%s: %q is not a valid priority", at, s)
	return false
}
