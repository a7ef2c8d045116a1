package actors

import (
	"log/slog"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cenkalti/backoff/v4"
)

// stop is how every parent here treats a panicking child: it ends. Restarting
// in place would keep the mailbox, and whatever message it choked on.
var stop = actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })

// steadyAfter is how long an actor must live for its next death to be its first.
const steadyAfter = 10 * time.Second

// inline runs an actor that is idle on the sender's goroutine, in place of one of its own: on the way of a job from
// the bell to its agent each change of goroutine costs as much as all that its actor does. Such an actor may be
// sent to from anywhere but under a lock that it takes itself.
var inline = actor.WithDispatcher(actor.NewSynchronizedDispatcher(300))

// props makes an actor that logs its panics with the stack, which protoactor
// throws away, and can be asked to panic.
func props(log *slog.Logger, role string, make func() actor.Actor, more ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(make, append(more,
		actor.WithSupervisor(stop),
		actor.WithReceiverMiddleware(func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, envelope *actor.MessageEnvelope) {
				defer func() {
					if r := recover(); r != nil {
						log.Error("actor panicked: this is a bug in bellhop; it is started again", "actor", role, "panic", r, "stack",
							string(debug.Stack()))
						panic(r)
					}
				}()
				if _, ok := envelope.Message.(*panicNow); ok {
					panic("asked to")
				}
				next(c, envelope)
			}
		}))...)
}

// parent starts actors and, when one dies that should not, starts another in
// its place after a pause that grows while they keep dying.
type parent struct {
	inst     *instance
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

// respawn is the parent's message to itself after the pause.
type respawn struct{ role string }

func newParent(inst *instance) parent { return parent{inst: inst, children: map[string]*childSpec{}} }

// start starts an actor in a role and keeps it alive.
func (p *parent) start(c actor.Context, role string, make func() actor.Actor, how ...actor.PropsOption) {
	pause := backoff.NewExponentialBackOff(backoff.WithInitialInterval(20*time.Millisecond),
		backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))
	p.children[role] = &childSpec{make: make, how: how, pause: pause}
	p.spawn(c, role)
}

func (p *parent) spawn(c actor.Context, role string) {
	o := p.children[role]
	if o == nil || p.leaving {
		return
	}
	o.born = time.Now()
	o.pid = c.Spawn(props(p.inst.Log, role, o.make, o.how...))
	p.inst.register(role, o.pid)
}

// end stops an actor for good.
func (p *parent) end(c actor.Context, role string) {
	if o := p.children[role]; o != nil {
		delete(p.children, role)
		p.inst.forget(role, o.pid)
		c.Stop(o.pid)
	}
}

// terminated handles the death of a child. It returns the role of one that
// will be started again, empty when the death was in order.
func (p *parent) terminated(c actor.Context, who *actor.PID) string {
	for role, o := range p.children {
		if o.pid == nil || !o.pid.Equal(who) {
			continue
		}
		o.pid = nil
		p.inst.forget(role, who)
		if p.leaving {
			return ""
		}
		if time.Since(o.born) > steadyAfter {
			o.pause.Reset()
		}
		self, system := c.Self(), p.inst.system
		time.AfterFunc(o.pause.NextBackOff(), func() { system.Root.Send(self, &respawn{role}) })
		return role
	}
	return ""
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
