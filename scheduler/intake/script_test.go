package intake

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"bellhop/scheduler"
)

// Scripts tell how an instance claims and deals jobs: what hosts offer and claims bring, and below each line what is to
// be done. `go test ./scheduler/intake -rewrite` writes them again: look at the difference.
//
//	new TYPE… exclusive=(TYPE)            an instance with agents of these types, and the host h
//	offer now=(work=2) room=1 spawn=(work=1) full      h can take two lines of work, and one more child
//	offer room=2 claimants=(work=3,other=1)    several types wait: what each has had of the slots, in seconds
//	claimed work=(1,2) query=(3)          what the last claim brought, by type; of query, MSQ jobs
//	claimed alone=(4) back                the same, but it goes back: the claim was to learn whether one waits
//	over 1                                so many jobs that ran are over
//	items JOB waiting=N [reading]         an MSQ job has so many items to deal
//	ended JOB                             an MSQ job is over
//	woken | scan | paused TYPE… | leaving | 2s
//
// After each, what is next is asked and told, until nothing is.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &story{now: time.Unix(1000, 0)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				s.begin(t, d)
				return "ok\n"
			}
			s.out.Reset()
			s.happens(t, d)
			return s.out.String()
		})
	})
}

// story is an intake, and what the last claim was.
type story struct {
	in      *Intake
	now     time.Time
	claim   *Claim
	running int
	out     strings.Builder
}

func (s *story) begin(t *testing.T, d *datadriven.TestData) {
	cfg := Config{Hosts: []Host{{Locality: scheduler.Locality{Host: "h"}}}, Cursors: 1, ExclusiveAfter: time.Minute}
	for _, a := range d.CmdArgs {
		if a.Key == "exclusive" {
			cfg.Exclusive = types(a.Vals)
			continue
		}
		cfg.Types = append(cfg.Types, scheduler.TypeName(a.Key))
	}
	s.in, s.claim, s.running = New(cfg), nil, 0
}

func types(words []string) (list []scheduler.TypeName) {
	for _, w := range words {
		list = append(list, scheduler.TypeName(w))
	}
	return list
}

func number(t *testing.T, d *datadriven.TestData, word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}

func (s *story) happens(t *testing.T, d *datadriven.TestData) {
	switch later, err := time.ParseDuration(d.Cmd); {
	case err == nil:
		s.now = s.now.Add(later)
	case d.Cmd == "over":
		s.running -= number(t, d, d.CmdArgs[0].Key)
	default:
		s.told(s.in.Apply(s.event(t, d), s.now))
	}
	if s.claim != nil {
		return // it is under way
	}
	next := s.in.Next(Can{Grant: true, Claim: true, Attached: true, Running: s.running}, s.now)
	s.told(next)
	if s.claim = next.Claim; s.claim == nil && s.out.Len() == 0 {
		s.out.WriteString("nothing\n")
	}
}

func (s *story) event(t *testing.T, d *datadriven.TestData) Event {
	switch d.Cmd {
	case "woken":
		return Woken{Rang: true}
	case "scan":
		return Woken{Scan: true}
	case "leaving":
		return Leaving{}
	case "paused":
		var c scheduler.ControlState
		for _, a := range d.CmdArgs {
			c.Paused = append(c.Paused, scheduler.TypeName(a.Key))
		}
		return Controlled{c}
	case "ended":
		return MSQEnded{scheduler.JobID(number(t, d, d.CmdArgs[0].Key))}
	case "items":
		m := MSQWaits{Claim: scheduler.Claim{Job: scheduler.JobID(number(t, d, d.CmdArgs[0].Key)), Fence: 1}}
		for _, a := range d.CmdArgs[1:] {
			if a.Key == "waiting" {
				m.Waiting = number(t, d, a.Vals[0])
			}
			m.Reading = m.Reading || a.Key == "reading"
		}
		return m
	case "offer":
		return s.offer(t, d)
	case "claimed":
		return s.claimed(t, d)
	}
	d.Fatalf(t, "%q is not an event of an intake", d.Cmd)
	return nil
}

func (s *story) offer(t *testing.T, d *datadriven.TestData) Offered {
	o := Offered{Host: "h", Epoch: 1}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "full":
			o.Full = true
		case "room":
			o.Room = number(t, d, a.Vals[0])
		case "claimants":
			for _, pair := range a.Vals {
				typ, at, _ := strings.Cut(pair, "=")
				o.Claimants = append(o.Claimants, scheduler.Claimant{Type: scheduler.TypeName(typ),
					At: time.Duration(number(t, d, at)) * time.Second, Line: time.Second})
			}
			scheduler.SortClaimants(o.Claimants)
		case "now", "spawn":
			of := map[scheduler.TypeName]int{}
			for _, pair := range a.Vals {
				typ, n, _ := strings.Cut(pair, "=")
				of[scheduler.TypeName(typ)] = number(t, d, n)
			}
			if o.Spawn == nil && a.Key == "spawn" {
				o.Spawn = of
			} else {
				o.Now = of
			}
		}
	}
	return o
}

func (s *story) claimed(t *testing.T, d *datadriven.TestData) Claimed {
	if s.claim == nil {
		d.Fatalf(t, "no claim is under way")
	}
	m := Claimed{Claim: *s.claim}
	s.claim = nil
	if d.HasArg("back") {
		m.Refused = map[scheduler.TypeName]int{scheduler.TypeName(d.CmdArgs[0].Key): len(d.CmdArgs[0].Vals)}
		return m
	}
	for _, a := range d.CmdArgs {
		for _, id := range a.Vals {
			j := scheduler.Job{Type: scheduler.TypeName(a.Key), Host: "h"}
			j.Claim = scheduler.Claim{Job: scheduler.JobID(number(t, d, id)), Fence: 1}
			if a.Key == "query" {
				j.Type, j.MSQ = m.Claim.Demand.Types[0].Type, "select"
			}
			m.Jobs = append(m.Jobs, j)
			s.running++
		}
	}
	return m
}

// told writes a step in words.
func (s *story) told(st Step) {
	for _, w := range st.Dispatch {
		fmt.Fprintf(&s.out, "%s gets %s", w.Host, w.Type)
		for _, l := range w.Lines {
			fmt.Fprintf(&s.out, " #%d", l.Claim.Job)
		}
		if w.Recount {
			s.out.WriteString(", and counts anew")
		}
		s.out.WriteString("\n")
	}
	for _, g := range st.Grants {
		fmt.Fprintf(&s.out, "job #%d may deal %d items to %s, %d of them to new children\n", g.Job, g.Now+g.Spawn, g.Host, g.Spawn)
	}
	for _, b := range st.Backlogs {
		fmt.Fprintf(&s.out, "%s learns that %d types wait\n", b.Host, len(b.Types))
	}
	if st.Draining != nil {
		fmt.Fprintf(&s.out, "draining for an exclusive job: %v\n", *st.Draining)
	}
	if st.Read != nil {
		fmt.Fprintf(&s.out, "read what waits of %v\n", st.Read.Types)
	}
	if st.Full {
		s.out.WriteString("full: the gate may close\n")
	}
	if c := st.Claim; c != nil {
		verb := "claim"
		if c.Probe {
			verb = "look"
		}
		fmt.Fprintf(&s.out, "%s for %s:", verb, c.Demand.Host)
		for _, of := range c.Demand.Types {
			fmt.Fprintf(&s.out, " %d %s", of.Limit, of.Type)
		}
		fmt.Fprintf(&s.out, ", %d in all", c.Demand.Total)
		turns := slices.Clone(c.Demand.Types)
		slices.SortStableFunc(turns, func(a, b scheduler.TypeDemand) int { return cmp.Compare(a.Turn, b.Turn) })
		if n := len(turns); n > 0 && turns[n-1].Turn > 0 {
			s.out.WriteString(" in turn:")
			for _, of := range turns {
				fmt.Fprintf(&s.out, " %s", of.Type)
			}
		}
		if c.Demand.Assigned {
			s.out.WriteString(", for new children")
		}
		if c.Demand.MSQ {
			s.out.WriteString(", or a query")
		}
		if len(c.Demand.Preemptors) > 0 {
			fmt.Fprintf(&s.out, ", unless %v is more urgent", c.Demand.Preemptors)
		}
		s.out.WriteString("\n")
	}
}
