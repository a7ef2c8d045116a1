package host

import (
	"errors"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/port"
	"bellhop/scheduler"
)

// fork is a launch under way. If the actor ends first, the process that comes out of it has no owner: it is killed.
type fork struct {
	mu        sync.Mutex
	process   port.Process // what came of it, should the actor end before it hears
	abandoned bool
}

func (k *child) launch(c actor.Context) {
	k.reservation.Settled.Store(true) // given back when the process has ended
	f := &fork{}
	k.fork = f
	self, inst, typ, name, host := c.Self(), k.inst, k.typ.Name, k.name, k.host
	inst.Processes[host].Enter()
	inst.Alive.Add(1)
	inst.Launches.Add(1)
	go func() {
		wake := &woke{}
		p, err := inst.Launcher.Launch(typ, name, host, max(time.Millisecond, inst.LeaseLeft(time.Now())),
			func() { inst.Send(self, wake) })
		if err != nil {
			inst.processEnded(host, typ)
		}
		f.mu.Lock()
		abandoned := f.abandoned
		f.process = p
		f.mu.Unlock() // before the message: it may be received right here
		if !abandoned {
			inst.Send(self, &started{p, err})
		} else if err == nil {
			p.Kill()
			go func() { <-p.Done(); inst.processEnded(host, typ) }()
		}
	}()
}

// processEnded counts a process out, when all that came of it has been seen to.
func (inst *Ports) processEnded(host scheduler.HostName, typ scheduler.TypeName) {
	inst.Alive.Add(-1)
	inst.Quotas.Of(typ).Alive.Add(-1)
	inst.Processes[host].Leave()
}

func (k *child) onStarted(c actor.Context, m *started, now time.Time) {
	k.fork = nil
	if m.err != nil {
		k.last, k.trace = *k.describe(), ""
		ev := scheduler.ChildEvent{Kind: scheduler.EventLaunchFailed, Error: m.err.Error()}
		if errors.Is(m.err, scheduler.ErrLeaseOver) { // not the agent's fault
			ev.Stop = scheduler.StopFenced
		}
		if errors.Is(m.err, scheduler.ErrUnguarded) {
			ev.Stop = scheduler.StopUnguarded
		}
		k.step(c, ev, now)
		return
	}
	k.process = m.process
	if left := time.Until(k.leaseEnd); left > 0 {
		k.process.Lease(left)
	}
	k.step(c, scheduler.ChildEvent{Kind: scheduler.EventLaunched}, now)
	k.onWoke(c, now)
}
