package actors

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/dispatch"
	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// claims is the queue as a dispatcher sees it.
type claims struct {
	calls
	ready []scheduler.Job // what the next claim brings
	holds []scheduler.Hold
	down  error
	peers []string // instances that have not re-asserted
	// The database has nothing of what runs here.
	foreign bool
	took    time.Duration
	again   time.Duration
	ages    time.Time
	looked  chan struct{}
}

func (q *claims) Claim(context.Context, scheduler.InstanceID, scheduler.Demand) ([]scheduler.Job, error) {
	q.add("claim")
	jobs := q.ready
	q.ready = nil
	time.Sleep(q.took) // virtual
	return jobs, q.down
}

func (q *claims) Later() (limit time.Duration, ages time.Time, looked <-chan struct{}) {
	return q.again, q.ages, q.looked
}

func (q *claims) Claims(context.Context, scheduler.InstanceID, []scheduler.Claim, bool) ([]scheduler.Hold, error) {
	q.add("claims?")
	return q.holds, nil
}

func (q *claims) Reassert(context.Context, scheduler.InstanceID, []scheduler.Hold) (int, error) {
	return 0, nil
}

func (q *claims) LookBack(context.Context, scheduler.InstanceID, scheduler.LookBack) (gone, again int, err error) {
	return 0, 0, nil
}

func (q *claims) Assert(_ context.Context, _ scheduler.InstanceID, all []scheduler.Hold) (scheduler.Asserted, error) {
	var lost []scheduler.Claim
	for _, h := range all {
		if !h.Over && q.foreign {
			lost = append(lost, h.Claim)
		}
	}
	q.add("assert")
	return scheduler.Asserted{Lost: lost, Not: q.peers}, q.down
}

func jobOf(id scheduler.JobID) scheduler.Job {
	return scheduler.Job{Type: "a", Line: scheduler.Line{Claim: claimOf(id), Instance: 1, Attempt: 1}}
}

// playDispatcher plays one with a host that takes ten lines of type a, and with
// peers that answer an audit.
func playDispatcher(t *testing.T, q *claims, with func(s *stage, start time.Time)) {
	t.Helper()
	cfg := Config{Queue: q, Holdings: q, Maintenance: &chores{}, Agents: []port.AgentType{{Name: "a"}},
		Hosts: []port.HostSpec{{Name: "h", Slots: 10}}, Scan: 5 * time.Second, Lag: 10 * time.Second}
	play(t, cfg, func(s *stage) {
		for role, name := range map[string]string{message.RoleHost("h"): "h", message.RoleMSQs: message.RoleMSQs} {
			s.answers[role] = func(c actor.Context) {
				if m, is := c.Message().(*message.Report); is {
					c.Send(m.To, &message.Reported{Of: m.Of, From: name})
				}
			}
		}
		s.listen(message.RoleHost("h"), message.RoleMSQs, message.RoleHosts, message.RoleGate, message.RoleMembership,
			message.RoleMaintenance, message.RoleLedger)
		s.start(message.RoleDispatcher, dispatch.New(s.forDispatcher()))
		s.Tell(message.RoleDispatcher, &message.Credits{Host: "h", Epoch: 1, Now: map[scheduler.TypeName]int{"a": 10}})
		after[*message.Deals](s, time.Second, message.RoleHost("h"))
		q.take(time.Now())
		with(s, time.Now())
	})
}

func dealtJobs(list []message.Deals) (jobs []scheduler.JobID) {
	for _, all := range list {
		for _, d := range all {
			for _, l := range d.Lines {
				jobs = append(jobs, l.Claim.Job)
			}
		}
	}
	return jobs
}

// What a claim brings goes to the host that asked for it.
func TestDispatcher_DealsWhatItClaims(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, _ time.Time) {
		q.ready = []scheduler.Job{jobOf(1), jobOf(2)}
		s.Tell(message.RoleDispatcher, &message.Rang{Inserted: true})
		if got := dealtJobs(after[message.Deals](s, 0, message.RoleHost("h"))); !slices.Equal(got, []scheduler.JobID{1, 2}) {
			t.Errorf("dealt: %v", got)
		}
	})
}

// After a lost connection nothing is claimed before what runs here is asserted,
// and before all other instances have asserted theirs, or the lag is over.
func TestDispatcher_AssertsBeforeItClaims(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, start time.Time) {
		q.peers = []string{"other"}
		s.Tell(message.RoleDispatcher, &message.ConnLost{})
		s.Tell(message.RoleDispatcher, &message.Rang{})
		after[message.Deals](s, 5*time.Second, message.RoleHost("h"))
		names, _ := q.take(start)
		if len(names) < 2 || slices.ContainsFunc(names, func(name string) bool { return name != "assert" }) {
			t.Fatalf("while another has not asserted: %q", names)
		}
		q.peers, q.ready = nil, []scheduler.Job{jobOf(1)}
		if got := dealtJobs(after[message.Deals](s, 5*time.Second, message.RoleHost("h"))); !slices.Equal(got,
			[]scheduler.JobID{1}) {
			t.Errorf("dealt: %v", got)
		}
		if names, _ := q.take(start); !slices.Equal(names[:2], []string{"assert", "claims?"}) || names[2] != "claim" {
			t.Errorf("then: %q", names)
		}
	})
	playDispatcher(t, q, func(s *stage, start time.Time) {
		q.peers = []string{"never"}
		s.Tell(message.RoleDispatcher, &message.ConnLost{})
		after[message.Deals](s, time.Minute, message.RoleHost("h"))
		names, at := q.take(start)
		if i := slices.Index(names, "claim"); i < 0 || at[i] < 10*time.Second || at[i] > 13*time.Second {
			t.Errorf("with one that never does: %q at %v", names, at)
		}
	})
}

// A claim that fails is followed by a pause and an assertion; what it brought
// before it failed is dealt.
func TestDispatcher_DealsWhatAFailedClaimBrought(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, start time.Time) {
		q.ready, q.down = []scheduler.Job{jobOf(1)}, errors.New("connection lost")
		s.Tell(message.RoleDispatcher, &message.Rang{})
		if got := dealtJobs(after[message.Deals](s, 0, message.RoleHost("h"))); !slices.Equal(got, []scheduler.JobID{1}) {
			t.Errorf("dealt: %v", got)
		}
		after[message.Deals](s, time.Second, message.RoleHost("h"))
		if names, at := q.take(start); len(names) < 2 || names[0] != "claim" || names[1] != "assert" || at[1] <= at[0] {
			t.Errorf("%q at %v", names, at)
		}
	})
}

// A claim that is answered when the lease is over is given back: others may have
// taken its jobs by now.
func TestDispatcher_GivesBackWhatComesAfterTheLease(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, _ time.Time) {
		s.SetLease(time.Now().Add(time.Second))
		q.ready, q.took = []scheduler.Job{jobOf(1)}, 2*time.Second
		s.Tell(message.RoleDispatcher, &message.Rang{})
		if got := after[message.Deals](s, 3*time.Second, message.RoleHost("h")); len(got) > 0 {
			t.Errorf("dealt: %v", dealtJobs(got))
		}
		batch, _, _ := s.outbox.Take(time.Now())
		if len(batch.Records) != 1 || batch.Records[0].Kind != scheduler.RecordRequeue {
			t.Errorf("owed: %+v", batch.Records)
		}
	})
}

// A claim that only the database knows, twice in a row, goes back to the queue.
func TestDispatcher_GivesBackWhatNobodyHas(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, _ time.Time) {
		q.holds = []scheduler.Hold{{Claim: claimOf(7), Attempt: 1, Host: "h"}}
		for scans, want := range []int{0, 1} {
			s.Tell(message.RoleDispatcher, &message.Rang{Scan: true})
			after[message.Deals](s, time.Second, message.RoleHost("h"))
			if owing := s.outbox.Owing(); len(owing) != want {
				t.Errorf("after %d scans there is owed: %v", scans+1, owing)
			}
		}
	})
}

// While fenced it claims nothing, and it claims again as soon as it has joined.
func TestDispatcher_ClaimsNothingWhileFenced(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, start time.Time) {
		s.Tell(message.RoleDispatcher, &message.Fenced{})
		s.Tell(message.RoleDispatcher, &message.Rang{})
		after[message.Deals](s, time.Minute, message.RoleHost("h"))
		if names, _ := q.take(start); names != nil {
			t.Errorf("while fenced: %q", names)
		}
		s.Tell(message.RoleDispatcher, &message.Joined{})
		after[message.Deals](s, time.Minute, message.RoleHost("h"))
		if names, _ := q.take(start); !slices.Equal(names, []string{"assert", "claims?", "claim"}) {
			t.Errorf("then: %q", names)
		}
	})
}

// A limit per time lets the next job start at its time, and not at a scan.
func TestDispatcher_LooksAgainWhenALimitPerTimeLetsIt(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, start time.Time) {
		q.again = 700 * time.Millisecond
		s.Tell(message.RoleDispatcher, &message.Rang{Locks: true})
		after[message.Deals](s, 0, message.RoleHost("h"))
		q.again = 0
		q.take(start)
		after[message.Deals](s, 5*time.Second, message.RoleHost("h"))
		if names, at := q.take(start); len(names) != 1 || at[0] < 700*time.Millisecond || at[0] > 710*time.Millisecond {
			t.Errorf("%q at %v, want one claim, 700 ms after the first", names, at)
		}
	})
}

// A claim that began a look is followed by another as soon as that is over.
func TestDispatcher_ClaimsWhenALookIsOver(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, start time.Time) {
		q.looked = make(chan struct{})
		s.Tell(message.RoleDispatcher, &message.Rang{Inserted: true})
		after[message.Deals](s, 0, message.RoleHost("h"))
		q.take(start)
		looked := q.looked
		q.looked = nil
		after[message.Deals](s, 700*time.Millisecond, message.RoleHost("h"))
		close(looked)
		after[message.Deals](s, time.Second, message.RoleHost("h"))
		if names, at := q.take(start); len(names) != 1 || at[0] < 700*time.Millisecond || at[0] > 710*time.Millisecond {
			t.Errorf("%q at %v, want one claim, 700 ms after the first", names, at)
		}
	})
}

// While a look is to tell of jobs that claims leave out, the queue is not held to be asked for all there is.
func TestDispatcher_DoesNotRestBeforeALookIsOver(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, _ time.Time) {
		rested := func() time.Time {
			t.Helper()
			s.Tell(message.RoleDispatcher, &message.Rang{Scan: true})
			list := after[*message.Stands](s, time.Second, message.RoleMaintenance)
			if len(list) == 0 {
				t.Fatal("it does not tell how it stands")
			}
			return list[0].Rested
		}
		looked := make(chan struct{})
		q.looked = looked
		first, second := rested(), rested()
		if !second.Equal(first) {
			t.Errorf("it rested at %v, and a look is under way", second)
		}
		close(looked)
		q.looked = nil
		after[*message.Stands](s, time.Second, message.RoleMaintenance)
		if third := rested(); !third.After(second) {
			t.Errorf("after the look it has not rested since %v", third)
		}
	})
}

// A cancel that rings during a claim may be of a job that this claim brings: it is looked for again.
func TestDispatcher_LooksForACancelAgainAfterAClaim(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, _ time.Time) {
		q.took = time.Second
		start := time.Now()
		s.Tell(message.RoleDispatcher, &message.Rang{Inserted: true})
		after[message.Deals](s, 500*time.Millisecond, message.RoleHost("h"))
		s.Tell(message.RoleDispatcher, &message.CancelRang{})
		after[message.Deals](s, 5*time.Second, message.RoleHost("h"))
		names, at := q.take(start)
		want := []string{"claim", "claims?", "claims?"}
		if !slices.Equal(names, want) || at[1] > 600*time.Millisecond || at[2] < time.Second {
			t.Errorf("%q at %v", names, at)
		}
	})
}

// What was granted to an MSQ job that an audit does not find is offered anew: it
// may have been granted after its host had counted.
func TestDispatcher_AfterAnAuditWhatWasGrantedIsOfferedAnew(t *testing.T) {
	t.Parallel()
	playDispatcher(t, &claims{}, func(s *stage, _ time.Time) {
		after[*message.MSQEnded](s, 0, message.RoleHosts) // the one at the start
		s.Tell(message.RoleDispatcher, &message.Audit{})
		after[*message.Report](s, time.Second, message.RoleHost("h"))
		if got := after[*message.MSQEnded](s, 0, message.RoleHosts); len(got) != 1 {
			t.Errorf("hosts are told %d times", len(got))
		}
	})
}
