package scheduler

import (
	"slices"
	"time"
)

// Locality is a host as run_on can name it: by its name, or by a locality key
// that one of its patterns serves.
type Locality struct {
	Host   HostName
	Serves []string // * stands for any text, ? for one character
}

// Covers reports whether the host is meant by a name in run_on. The SQL
// function bellhop.answers says the same.
func (l Locality) Covers(key string) bool {
	return key == string(l.Host) ||
		slices.ContainsFunc(l.Serves, func(pattern string) bool { return fits([]rune(pattern), []rune(key)) })
}

// VarRunOnFile is the var of an MSQ job that names a column of its query: each
// row runs where the file that stands there is.
const VarRunOnFile = "jq_runonpfile"

// HostsOf names the hosts that answer to a key.
func HostsOf(localities []Locality, key string) (hosts []HostName) {
	for _, l := range localities {
		if l.Covers(key) {
			hosts = append(hosts, l.Host)
		}
	}
	return hosts
}

// fits goes back to the last * only: what an earlier one stood for never has to
// be thought over, so that no pattern takes more than pattern × text steps.
func fits(pattern, text []rune) bool {
	star, back := -1, 0
	p := 0
	for t := 0; t < len(text); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			back++
			p, t = star+1, back
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// RunOn is a name in run_on that jobs of a type wait under.
type RunOn struct {
	Type TypeName
	Name string
}

// Stop is what an instance has been told to do through the queue.
type Stop string

const (
	// StopFinish: finish what runs, start nothing, exit; as SIGINT.
	StopFinish Stop = "finish"
	// StopNow: give running work its grace, and exit; as SIGTERM.
	StopNow Stop = "now"
)

// ControlState is what operators want just now.
type ControlState struct {
	Paused    []TypeName // empty name: everything
	Stop      Stop       // of this instance; empty: nothing
	Attached  bool       // there are attached tables
	Locks     bool       // there are jobs with locks
	Promises  bool       // jobs are promised by a time
	Reserves  time.Time  // when the next of them is to be reserved for; zero: none, as things are
	Sensors   bool       // workflows wait for the clock, or for an event that has come
	SensorIn  time.Duration
	Notices   bool // rules notify recipients of runs
	NoticeIn  time.Duration
	Instances int   // that live
	Watches   int64 // which sensors this instance watches: another number, others; 0: none
}

// Pauses reports whether nothing of a type may start.
func (s ControlState) Pauses(t TypeName) bool {
	return slices.Contains(s.Paused, t) || slices.Contains(s.Paused, "")
}
