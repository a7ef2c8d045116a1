package lock

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// Scripts show passes: what runs and waits, and below the line which jobs start, in their order, and what each other
// job waits for. `go test ./scheduler/lock -rewrite` writes them again: look at the difference.
//
//	free 2                              room for so many jobs
//	holds 9 node:n=shared               a running job and its locks
//	waits 1 5s node:?=exclusive         a job, how long it has waited, and its locks; reasons begin with @
//	urgent 4 5s …                       the same at priority -1
//	reserved 1 20m node:n=exclusive     one that has aged, and may get a reservation
//	filter p PAUSE ["jobid",["=","id",1]]
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "pass" {
				d.Fatalf(t, "there is no story of a %s", d.Cmd)
			}
			policy := AnyLevel
			for _, a := range d.CmdArgs {
				policy.Order = Order(a.Key)
			}
			return passStory(policy, passOf(t, d))
		})
	})
}

func passOf(t *testing.T, d *datadriven.TestData) Pass {
	p := Pass{Now: epoch, Total: 9, Most: map[string]int{"t": 9}}
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		n, _ := strconv.ParseInt(words[1], 10, 64)
		switch words[0] {
		case "free":
			p.Total = int(n)
		case "holds":
			p.Held = append(p.Held, grants(Job{ID: ID(n), Locks: set(t, words[2:]...)}, nil)...)
		case "waits", "urgent", "reserved":
			waited, err := time.ParseDuration(words[2])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			w := Waiting{Job: ID(n), Type: "t", Since: epoch.Add(-waited)}
			for _, word := range words[3:] {
				if reason, is := strings.CutPrefix(word, "@"); is {
					w.Reasons = append(w.Reasons, reason)
				} else {
					w.Locks = append(w.Locks, word)
				}
			}
			if words[0] == "urgent" {
				w.Priority = -1
			}
			if words[0] == "reserved" {
				p.Reserved = append(p.Reserved, w)
			}
			p.Waiting = append(p.Waiting, w)
		case "filter":
			action, err := ParseAction(words[2])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			r := Rule{ID: RuleID(words[1]), Action: action, Predicates: []Predicate{predicate(t, words[3])}}
			p.Rules = append(p.Rules, r)
		default:
			d.Fatalf(t, "%q is not a line of a pass", words[0])
		}
	}
	return p
}

func passStory(policy Policy, p Pass) string {
	var out strings.Builder
	c := policy.Choose(p)
	for _, s := range c.Start {
		fmt.Fprintf(&out, "%d starts\n", s.Job)
	}
	for _, s := range c.Wait {
		fmt.Fprintf(&out, "%d waits behind %s; %s\n", s.Job, s.Behind, s.Why)
	}
	for _, r := range c.Reject {
		fmt.Fprintf(&out, "%d is rejected by %s\n", r.Job, r.Rule)
	}
	if out.Len() == 0 {
		return "no job starts\n"
	}
	return out.String()
}
