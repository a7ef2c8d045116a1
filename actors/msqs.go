package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// msqs answers for one actor per MSQ job. One that dies is not started again:
// its job goes back to the queue, and the query runs again under a new claim,
// when nothing of the old one is in a child's hands any more.
type msqs struct {
	parent
	open     map[scheduler.JobID]scheduler.Job
	clearing map[scheduler.Claim]*clearing
	done     chan<- string // told when no job is open any more
}

// clearing waits until nothing of a dead actor's job is in a child's hands.
type clearing struct {
	job     scheduler.Job
	waiting map[string]bool // who has not reported
	seen    bool            // somebody still holds an item
}

// clearAgain asks everybody once more.
type clearAgain struct{ claim scheduler.Claim }

func newMSQs(h *house) *msqs {
	return &msqs{parent: newParent(h), open: map[scheduler.JobID]scheduler.Job{}, clearing: map[scheduler.Claim]*clearing{}}
}

// over: an MSQ actor has settled or given back its job. From an msq.
type over struct{ Claim scheduler.Claim }

func (s *msqs) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *open:
		job := m.Job
		s.open[job.Claim.Job] = job
		s.start(c, roleMSQ(job.Claim.Job), func() actor.Actor { return newMSQ(s.h, job) })
	case *over:
		if job, ok := s.open[m.Claim.Job]; ok && job.Claim == m.Claim {
			delete(s.open, m.Claim.Job)
			s.end(c, roleMSQ(m.Claim.Job))
			s.h.tell(roleDispatcher, &closed{m.Claim})
		}
	case *report:
		r := &reported{Of: m.Of, From: roleMSQs}
		for _, job := range s.open {
			r.Claims = append(r.Claims, job.Claim)
		}
		for claim := range s.clearing {
			r.Claims = append(r.Claims, claim)
		}
		s.h.system.Root.Send(m.To, r)
		s.forward(c, m) // to a dispatcher that may not know of them
	case *reported:
		s.onReported(c, m)
	case *clearAgain:
		s.ask(c, m.claim)
	case *handIn:
		s.done = m.done
		s.forward(c, m)
	case *drop, *arrived:
		s.forward(c, m)
	case *actor.Stopping:
		s.leaving = true
	case *actor.Terminated:
		s.onDeath(c, m.Who)
	case *respawn:
		// never: the jobs of dead actors go back to the queue
	}
	if s.done != nil && len(s.open) == 0 && len(s.clearing) == 0 {
		s.done <- roleMSQs
		s.done = nil
	}
}

func (s *msqs) forward(c actor.Context, m any) {
	for _, o := range s.children {
		if o.pid != nil {
			c.Send(o.pid, m)
		}
	}
}

func (s *msqs) onDeath(c actor.Context, who *actor.PID) {
	for id, job := range s.open {
		o := s.children[roleMSQ(id)]
		if o == nil || o.pid == nil || !o.pid.Equal(who) {
			continue
		}
		delete(s.open, id)
		delete(s.children, roleMSQ(id))
		s.h.gone(roleMSQ(id), who)
		// Its items are nobody's: they are stopped before the query runs again.
		s.h.tell(roleHosts, &drop{[]scheduler.Claim{job.Claim}})
		s.clearing[job.Claim] = &clearing{job: job}
		s.ask(c, job.Claim)
		s.h.tell(roleDispatcher, &closed{job.Claim})
	}
}

// ask asks all hosts and children what they hold.
func (s *msqs) ask(c actor.Context, claim scheduler.Claim) {
	cl := s.clearing[claim]
	if cl == nil {
		return
	}
	cl.waiting, cl.seen = map[string]bool{}, false
	for _, spec := range s.h.Hosts {
		cl.waiting[string(spec.Name)] = true
		s.h.tell(roleHost(spec.Name), &report{To: c.Self()})
	}
	// Also the way out when one that was asked has died meanwhile.
	self := c.Self()
	time.AfterFunc(200*time.Millisecond, func() { s.h.system.Root.Send(self, &clearAgain{claim}) })
}

func (s *msqs) onReported(c actor.Context, m *reported) {
	for claim, cl := range s.clearing {
		delete(cl.waiting, m.From)
		for _, child := range m.Children {
			cl.waiting[child] = true
		}
		cl.seen = cl.seen || slices.Contains(m.Items, claim)
		if len(cl.waiting) > 0 || cl.seen || s.h.orphans.has(claim) {
			continue
		}
		delete(s.clearing, claim)
		s.h.note(claim, cl.job.Attempt, cl.job.Host, "the MSQ was lost inside the scheduler; its query runs again")
		s.h.owe(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: claim, Attempt: cl.job.Attempt})
	}
}
