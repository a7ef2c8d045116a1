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
	h *house
	// owned by Receive
	cancel  context.CancelFunc
	ended   chan struct{}
	heard   time.Time
	scan    *time.Ticker
	beats   *time.Ticker
	stopped chan struct{}
}

func newBell(h *house) *bell { return &bell{h: h} }

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
		b.h.heard.Store(int64(b.heard.Sub(b.h.began)))
		b.h.unheard.Store(0)
	case *scanDue:
		b.h.tell(roleDispatcher, &rang{scan: true})
		b.h.lookAtRows()
	case *listenTick:
		if b.h.unheard.Load() > deafAfter && time.Since(b.heard) > deafAfter*b.h.Heartbeat {
			b.h.Log.Warn("bell: deaf for too long, listening anew", "silent", time.Since(b.heard))
			b.heard = time.Now()
			b.h.Bell.Cut()
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
	self, root := c.Self(), b.h.system.Root
	b.cancel, b.ended, b.stopped, b.heard = cancel, make(chan struct{}), make(chan struct{}), time.Now()
	ended := b.ended
	// These run on the goroutine that reads the connection: they only send.
	ring, inserted, cancelled, due, beat := &rang{}, &rang{inserted: true}, &cancelRang{}, &dueNow{}, &heard{}
	go func() {
		defer close(ended)
		if err := b.h.Bell.Run(ctx,
			func(only bool) {
				m := ring
				if only {
					m = inserted
				}
				b.h.tell(roleDispatcher, m)
				b.h.tell(roleGate, m)
				b.h.lookAtRows()
			},
			func() { b.h.tell(roleDispatcher, cancelled) },
			func() { b.h.tell(roleDispatcher, due); b.h.lookAtRows() },
			func() { root.Send(self, beat) }); err != nil && ctx.Err() == nil {
			b.h.Log.Error("bell: cannot listen; the safety scan finds the work", "error", err)
		}
	}()
	b.scan, b.beats = time.NewTicker(b.h.Scan), time.NewTicker(b.h.Heartbeat)
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
