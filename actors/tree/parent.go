package tree

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cenkalti/backoff/v4"

	"bellhop/actors/message"
)

// Stop is how every parent here treats a panicking child: it ends. Restarting
// in place would keep the mailbox, and whatever message it choked on.
var Stop = actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })

// steadyAfter is how long an actor must live for its next death to be its first.
const steadyAfter = 10 * time.Second

// Inline runs an actor that is idle on the sender's goroutine, in place of one of its own: on the way of a job from
// the bell to its agent each change of goroutine costs as much as all that its actor does. Such an actor may be
// sent to from anywhere but under a lock that it takes itself.
var Inline = actor.WithDispatcher(actor.NewSynchronizedDispatcher(300))

// Props makes an actor that logs its panics with the stack, which protoactor
// throws away, and can be asked to panic.
func Props(log *slog.Logger, role string, make func() actor.Actor, more ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(make, append(more,
		actor.WithSupervisor(Stop),
		actor.WithReceiverMiddleware(func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, envelope *actor.MessageEnvelope) {
				defer func() {
					if r := recover(); r != nil {
						log.Error("actor panicked: this is a bug in bellhop; it is started again", "actor", role, "panic", r, "stack",
							string(debug.Stack()))
						panic(r)
					}
				}()
				if _, ok := envelope.Message.(*message.PanicNow); ok {
					panic("asked to")
				}
				next(c, envelope)
			}
		}))...)
}

// Parent starts actors and, when one dies that should not, starts another in
// its place after a pause that grows while they keep dying.
type Parent struct {
	peers    *Peers
	log      *slog.Logger
	children map[string]*childSpec // by role
	leaving  bool
}

type childSpec struct {
	make  func() actor.Actor
	how   []actor.PropsOption
	pid   *actor.PID
	born  time.Time
	pause *backoff.ExponentialBackOff
}

// Respawn is the parent's message to itself after the pause.
type Respawn struct{ Role string }

func NewParent(p *Peers, log *slog.Logger) Parent {
	return Parent{peers: p, log: log, children: map[string]*childSpec{}}
}

// Start starts an actor in a role and keeps it alive.
func (p *Parent) Start(c actor.Context, role string, make func() actor.Actor, how ...actor.PropsOption) {
	pause := backoff.NewExponentialBackOff(backoff.WithInitialInterval(20*time.Millisecond),
		backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))
	p.children[role] = &childSpec{make: make, how: how, pause: pause}
	p.Spawn(c, role)
}

func (p *Parent) Spawn(c actor.Context, role string) {
	o := p.children[role]
	if o == nil || p.leaving {
		return
	}
	o.born = time.Now()
	o.pid = c.Spawn(Props(p.log, role, o.make, o.how...))
	p.peers.Register(role, o.pid)
}

// End stops an actor for good.
func (p *Parent) End(c actor.Context, role string) {
	if o := p.children[role]; o != nil {
		delete(p.children, role)
		p.peers.Forget(role, o.pid)
		c.Stop(o.pid)
	}
}

// Leave has no child started again: the parent stops.
func (p *Parent) Leave() { p.leaving = true }

// Forward sends a message to all children that live, and returns how many these are.
func (p *Parent) Forward(c actor.Context, m any) (n int) {
	for _, o := range p.children {
		if o.pid != nil {
			c.Send(o.pid, m)
			n++
		}
	}
	return n
}

// of is the child that an actor was, and its role; nil: none.
func (p *Parent) of(who *actor.PID) (string, *childSpec) {
	for role, o := range p.children {
		if o.pid != nil && o.pid.Equal(who) {
			return role, o
		}
	}
	return "", nil
}

// Lost forgets a child that has died and is not started again. It returns its role; empty: no child was that actor.
func (p *Parent) Lost(who *actor.PID) string {
	role, o := p.of(who)
	if o != nil {
		delete(p.children, role)
		p.peers.Forget(role, who)
	}
	return role
}

// Terminated handles the death of a child. It returns the role of one that
// will be started again, empty when the death was in order.
func (p *Parent) Terminated(c actor.Context, who *actor.PID) string {
	role, o := p.of(who)
	if o == nil {
		return ""
	}
	o.pid = nil
	p.peers.Forget(role, who)
	if p.leaving {
		return ""
	}
	if time.Since(o.born) > steadyAfter {
		o.pause.Reset()
	}
	p.peers.Later(c.Self(), o.pause.NextBackOff(), &Respawn{role})
	return role
}

// Gone: an actor below has ended, and what it had said before is heard. To itself,
// since that it ended overtakes what it said: lines that a process has would go
// to another one.
type Gone struct{ Who *actor.PID }
