// Package tree is what every actor is built with: its peers by role, the
// identity of the instance, and a parent that starts it again.
package tree

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
)

// Peers is how actors reach each other: by role, "ledger", "host/local", "msq/42". Written by the parent of the
// actor that fills a role, read by all.
type Peers struct {
	System *actor.ActorSystem
	mu     sync.RWMutex
	pids   map[string]*actor.PID
}

func NewPeers() *Peers { return &Peers{pids: map[string]*actor.PID{}} }

// Register registers where an actor is reached, under its role. The next
// incarnation puts itself in its place.
func (p *Peers) Register(role string, pid *actor.PID) {
	p.mu.Lock()
	p.pids[role] = pid
	p.mu.Unlock()
}

// Forget forgets a role, if it still is that actor's.
func (p *Peers) Forget(role string, pid *actor.PID) {
	p.mu.Lock()
	if p.pids[role] == pid {
		delete(p.pids, role)
	}
	p.mu.Unlock()
}

// PID is the actor that fills a role now; nil: none.
func (p *Peers) PID(role string) *actor.PID {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.pids[role]
}

// Tell sends a message to a role. To a role that no actor fills just now it is
// lost: each actor that starts asks for what it needs to know.
func (p *Peers) Tell(role string, message any) {
	if pid := p.PID(role); pid != nil {
		p.System.Root.Send(pid, message)
	}
}

// Send sends a message to one incarnation: most often an actor's to itself.
func (p *Peers) Send(to *actor.PID, message any) { p.System.Root.Send(to, message) }

// Later sends a message after a while.
func (p *Peers) Later(to *actor.PID, wait time.Duration, message any) *time.Timer {
	return time.AfterFunc(wait, func() { p.Send(to, message) })
}

// Roles lists what roles are filled now, in order.
func (p *Peers) Roles() []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Sorted(maps.Keys(p.pids))
}

// Ring tells of a reason to look at the queue: the dispatcher looks for what may
// start, and maintenance says of the rest why it waits.
func (p *Peers) Ring(m *message.Rang) {
	p.Tell(message.RoleDispatcher, m)
	p.Tell(message.RoleMaintenance, m)
}
