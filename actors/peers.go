package actors

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// peers is how actors reach each other: by role, "ledger", "host/local", "msq/42". Written by the parent of the
// actor that fills a role, read by all.
type peers struct {
	system *actor.ActorSystem
	mu     sync.RWMutex
	pids   map[string]*actor.PID
}

func newPeers() *peers { return &peers{pids: map[string]*actor.PID{}} }

// register registers where an actor is reached, under its role. The next
// incarnation puts itself in its place.
func (p *peers) register(role string, pid *actor.PID) {
	p.mu.Lock()
	p.pids[role] = pid
	p.mu.Unlock()
}

// forget forgets a role, if it still is that actor's.
func (p *peers) forget(role string, pid *actor.PID) {
	p.mu.Lock()
	if p.pids[role] == pid {
		delete(p.pids, role)
	}
	p.mu.Unlock()
}

// pid is the actor that fills a role now; nil: none.
func (p *peers) pid(role string) *actor.PID {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.pids[role]
}

// tell sends a message to a role. To a role that no actor fills just now it is
// lost: each actor that starts asks for what it needs to know.
func (p *peers) tell(role string, message any) {
	if pid := p.pid(role); pid != nil {
		p.system.Root.Send(pid, message)
	}
}

// send sends a message to one incarnation: most often an actor's to itself.
func (p *peers) send(to *actor.PID, message any) { p.system.Root.Send(to, message) }

// later sends a message after a while.
func (p *peers) later(to *actor.PID, wait time.Duration, message any) *time.Timer {
	return time.AfterFunc(wait, func() { p.send(to, message) })
}

// ring tells of a reason to look at the queue: the dispatcher looks for what may
// start, and maintenance says of the rest why it waits.
func (p *peers) ring(m *rang) {
	p.tell(roleDispatcher, m)
	p.tell(roleMaintenance, m)
}
