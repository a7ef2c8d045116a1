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
	jobs     map[scheduler.JobID]scheduler.Job
	clearing map[scheduler.Claim]*clearing
	done     chan<- string // told when no job is open any more
}

// clearing waits until nothing of a dead actor's job is in a child's hands.
type clearing struct {
	job     scheduler.Job
	waiting map[string]bool // actors that have not reported
	seen    bool            // an item is still held somewhere
}

// retryClear asks all once more.
type retryClear struct{ claim scheduler.Claim }

func newMSQs(inst *instance) *msqs {
	return &msqs{
		parent:   newParent(inst),
		jobs:     map[scheduler.JobID]scheduler.Job{},
		clearing: map[scheduler.Claim]*clearing{},
	}
}

// msqDone: an MSQ actor has settled or given back its job. From an msq.
type msqDone struct{ Claim scheduler.Claim }

func (s *msqs) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *startMSQ:
		job := m.Job
		s.jobs[job.Claim.Job] = job
		s.start(c, roleMSQ(job.Claim.Job), func() actor.Actor { return newMSQ(s.inst.forMSQ(), job) })
	case *msqDone:
		if job, ok := s.jobs[m.Claim.Job]; ok && job.Claim == m.Claim {
			delete(s.jobs, m.Claim.Job)
			s.end(c, roleMSQ(m.Claim.Job))
			s.inst.tell(roleDispatcher, &msqEnded{m.Claim})
		}
	case *report:
		r := &reported{Of: m.Of, From: roleMSQs}
		for _, job := range s.jobs {
			r.Claims = append(r.Claims, job.Claim)
		}
		for claim := range s.clearing {
			r.Claims = append(r.Claims, claim)
		}
		s.inst.send(m.To, r)
		s.forward(c, m) // to a dispatcher that may not know of them
	case *reported:
		s.onReported(c, m)
	case *retryClear:
		s.ask(c, m.claim)
	case *drainMSQs:
		s.done = m.done
		s.forward(c, m)
	case *drop, *hostRestarted, *tryLocks:
		s.forward(c, m)
	case *actor.Stopping:
		s.leaving = true
	case *actor.Terminated:
		c.Send(c.Self(), &gone{m.Who})
	case *gone:
		s.onDeath(c, m.who)
	case *respawn:
		// never: the jobs of dead actors go back to the queue
	}
	if s.done != nil && len(s.jobs) == 0 && len(s.clearing) == 0 {
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
	for id, job := range s.jobs {
		o := s.children[roleMSQ(id)]
		if o == nil || o.pid == nil || !o.pid.Equal(who) {
			continue
		}
		delete(s.jobs, id)
		delete(s.children, roleMSQ(id))
		s.inst.forget(roleMSQ(id), who)
		// Its items have no owner: they are stopped before the query runs again.
		s.inst.tell(roleHosts, &drop{[]scheduler.Claim{job.Claim}})
		s.clearing[job.Claim] = &clearing{job: job}
		s.ask(c, job.Claim)
		s.inst.tell(roleDispatcher, &msqEnded{job.Claim})
	}
}

// ask asks all hosts and children what they hold.
func (s *msqs) ask(c actor.Context, claim scheduler.Claim) {
	cl := s.clearing[claim]
	if cl == nil {
		return
	}
	cl.waiting, cl.seen = map[string]bool{}, false
	for _, spec := range s.inst.setup().Hosts {
		cl.waiting[string(spec.Name)] = true
		s.inst.tell(roleHost(spec.Name), &report{To: c.Self()})
	}
	// Also the way out when one that was asked has died meanwhile.
	self := c.Self()
	s.inst.later(self, 200*time.Millisecond, &retryClear{claim})
}

func (s *msqs) onReported(c actor.Context, m *reported) {
	for claim, cl := range s.clearing {
		delete(cl.waiting, m.From)
		for _, child := range m.Children {
			cl.waiting[child] = true
		}
		cl.seen = cl.seen || slices.Contains(m.Items, claim)
		if len(cl.waiting) > 0 || cl.seen || s.inst.orphans.has(claim) {
			continue
		}
		delete(s.clearing, claim)
		s.inst.outbox.note(claim, cl.job.Attempt, cl.job.Host, "the MSQ was lost inside the scheduler; its query runs again")
		s.inst.outbox.owe(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: claim, Attempt: cl.job.Attempt})
	}
}
