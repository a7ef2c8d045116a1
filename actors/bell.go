package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// deafAfter is how many heartbeats may go unheard before the listener's
// connection is cut. They are counted, not timed: a database that takes its
// time with each makes nobody deaf.
const deafAfter = 3

// bell turns notifications into rang, finds out when it has gone deaf, and
// keeps the safety scan, which is the guarantee behind every hint.
type bell struct {
	inst *instance
	// owned by Receive
	cancel  context.CancelFunc
	ended   chan struct{}
	heard   time.Time
	scan    *time.Ticker
	beats   *time.Ticker
	stopped chan struct{}
}

func newBell(inst *instance) *bell { return &bell{inst: inst} }

type (
	heard      struct{} // our own ring came through
	scanDue    struct{}
	listenTick struct{}
)

func (b *bell) Receive(c actor.Context) {
	switch c.Message().(type) {
	case *actor.Started:
		b.listen(c)
	case *heard:
		b.heard = time.Now()
		b.inst.heard.Store(int64(b.heard.Sub(b.inst.began)))
		b.inst.missedRings.Store(0)
	case *scanDue:
		b.inst.ring(&rang{scan: true})
		b.inst.scanRows()
	case *listenTick:
		if b.inst.missedRings.Load() > deafAfter && time.Since(b.heard) > deafAfter*b.inst.Heartbeat {
			b.inst.Log.Warn("bell: deaf for too long, listening anew", "silent", time.Since(b.heard))
			b.heard = time.Now()
			b.inst.Bell.Cut()
		}
	case *actor.Stopping:
		close(b.stopped)
		b.scan.Stop()
		b.beats.Stop()
		b.cancel()
		<-b.ended // cancelled: it returns at once
	}
}

func (b *bell) listen(c actor.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	self, root := c.Self(), b.inst.system.Root
	b.cancel, b.ended, b.stopped, b.heard = cancel, make(chan struct{}), make(chan struct{}), time.Now()
	ended := b.ended
	// These run on the goroutine that reads the connection: they only send.
	ring, inserted, locks := &rang{}, &rang{inserted: true}, &rang{locks: true}
	cancelled, due, beat := &cancelRang{}, &dueNow{}, &heard{}
	go func() {
		defer close(ended)
		if err := b.inst.Bell.Run(ctx,
			func(only bool) {
				m := ring
				if only {
					m = inserted
				}
				b.inst.tell(roleDispatcher, m)
				b.inst.tell(roleGate, m)
				b.inst.tell(roleMaintenance, m)
				b.inst.scanRows()
			},
			func() { b.inst.tell(roleDispatcher, locks) },
			func() { b.inst.tell(roleDispatcher, cancelled) },
			func() { b.inst.tell(roleMaintenance, due); b.inst.scanRows() },
			func() { root.Send(self, beat) }); err != nil && ctx.Err() == nil {
			b.inst.Log.Error("bell: cannot listen; the safety scan finds the work", "error", err)
		}
	}()
	b.scan, b.beats = time.NewTicker(b.inst.Scan), time.NewTicker(b.inst.Heartbeat)
	scan, beats, stopped := b.scan.C, b.beats.C, b.stopped
	go func() {
		for {
			select {
			case <-scan:
				root.Send(self, &scanDue{})
			case <-beats:
				root.Send(self, &listenTick{})
			case <-stopped:
				return
			}
		}
	}()
}
