// Package msq streams the rows of MSQ jobs to children: an actor for each job, and
// msqs, which answers for all of them.
package msq

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// msqs answers for one actor per MSQ job. One that dies is not started again:
// its job goes back to the queue, and the query runs again under a new claim,
// when nothing of the old one is in a child's hands any more.
type msqs struct {
	tree.Parent
	ports    Ports
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

func NewMSQs(h Ports) *msqs {
	return &msqs{
		Parent:   tree.NewParent(h.Peers, h.Log),
		ports:    h,
		jobs:     map[scheduler.JobID]scheduler.Job{},
		clearing: map[scheduler.Claim]*clearing{},
	}
}

// Done: an MSQ actor has settled or given back its job. From an msq.
type Done struct{ Claim scheduler.Claim }

func (s *msqs) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *message.StartMSQ:
		job := m.Job
		s.jobs[job.Claim.Job] = job
		s.Start(c, message.RoleMSQ(job.Claim.Job), func() actor.Actor { return New(s.ports, job) })
	case *Done:
		if job, ok := s.jobs[m.Claim.Job]; ok && job.Claim == m.Claim {
			delete(s.jobs, m.Claim.Job)
			s.End(c, message.RoleMSQ(m.Claim.Job))
			s.ports.Tell(message.RoleDispatcher, &message.MSQEnded{Claim: m.Claim})
		}
	case *message.Report:
		r := &message.Reported{Of: m.Of, From: message.RoleMSQs}
		for _, job := range s.jobs {
			r.Claims = append(r.Claims, job.Claim)
		}
		for claim := range s.clearing {
			r.Claims = append(r.Claims, claim)
		}
		s.ports.Send(m.To, r)
		s.Forward(c, m) // to a dispatcher that may not know of them
	case *message.Reported:
		s.onReported(c, m)
	case *retryClear:
		s.ask(c, m.claim)
	case *message.DrainMSQs:
		s.done = m.Done
		s.Forward(c, m)
	case *message.Drop, *message.HostRestarted, *message.TryLocks:
		s.Forward(c, m)
	case *actor.Stopping:
		s.Leave()
	case *actor.Terminated:
		c.Send(c.Self(), &tree.Gone{Who: m.Who})
	case *tree.Gone:
		s.onDeath(c, m.Who)
	case *tree.Respawn:
		// never: the jobs of dead actors go back to the queue
	}
	if s.done != nil && len(s.jobs) == 0 && len(s.clearing) == 0 {
		s.done <- message.RoleMSQs
		s.done = nil
	}
}

func (s *msqs) onDeath(c actor.Context, who *actor.PID) {
	role := s.Lost(who)
	for id, job := range s.jobs {
		if message.RoleMSQ(id) != role {
			continue
		}
		delete(s.jobs, id)
		// Its items have no owner: they are stopped before the query runs again.
		s.ports.Tell(message.RoleHosts, &message.Drop{Claims: []scheduler.Claim{job.Claim}, Ends: "its query begins again"})
		s.clearing[job.Claim] = &clearing{job: job}
		s.ask(c, job.Claim)
		s.ports.Tell(message.RoleDispatcher, &message.MSQEnded{Claim: job.Claim})
	}
}

// ask asks all hosts and children what they hold.
func (s *msqs) ask(c actor.Context, claim scheduler.Claim) {
	cl := s.clearing[claim]
	if cl == nil {
		return
	}
	cl.waiting, cl.seen = map[string]bool{}, false
	for _, place := range s.ports.Hosts() {
		cl.waiting[string(place.Host)] = true
		s.ports.Tell(message.RoleHost(place.Host), &message.Report{To: c.Self()})
	}
	// Also the way out when one that was asked has died meanwhile.
	self := c.Self()
	s.ports.Later(self, 200*time.Millisecond, &retryClear{claim})
}

func (s *msqs) onReported(c actor.Context, m *message.Reported) {
	for claim, cl := range s.clearing {
		delete(cl.waiting, m.From)
		for _, child := range m.Children {
			cl.waiting[child] = true
		}
		cl.seen = cl.seen || slices.Contains(m.Items, claim)
		if len(cl.waiting) > 0 || cl.seen || s.ports.Orphaned(claim) {
			continue
		}
		delete(s.clearing, claim)
		s.ports.Outbox.Note(claim, cl.job.Attempt, cl.job.Host, "the MSQ was lost inside the scheduler; its query runs again")
		s.ports.Outbox.Owe(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: claim, Attempt: cl.job.Attempt})
	}
}
