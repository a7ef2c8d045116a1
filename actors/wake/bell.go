// Package wake has the bell, which hears the ring, and the gate, which spares
// producers the ringing.
package wake

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

// deafAfter is how many heartbeats may go unheard before the listener's connection is cut. They are counted, not
// timed: a slow database does not make the listener deaf.
const deafAfter = 3

// bell turns notifications into rang, finds out when it has gone deaf, and
// keeps the safety scan, which is the guarantee behind every hint.
type bell struct {
	BellPorts
	// owned by Receive
	cancel  context.CancelFunc
	ended   chan struct{}
	heard   time.Time
	scan    *time.Ticker
	beats   *time.Ticker
	stopped chan struct{}
}

func NewBell(h BellPorts) *bell { return &bell{BellPorts: h} }

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
		b.Hearing.at.Store(int64(b.heard.Sub(b.Began)))
		b.Hearing.missed.Store(0)
	case *scanDue:
		b.Ring(&message.Rang{Scan: true})
		b.Rows.Scan()
	case *listenTick:
		if b.Hearing.missed.Load() > deafAfter && time.Since(b.heard) > deafAfter*b.Heartbeat {
			b.Log.Warn("bell: deaf for too long, listening on a new connection", "silent", time.Since(b.heard))
			b.heard = time.Now()
			b.Bell.Cut()
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
	self, root := c.Self(), b.System.Root
	b.cancel, b.ended, b.stopped, b.heard = cancel, make(chan struct{}), make(chan struct{}), time.Now()
	ended := b.ended
	// These run on the goroutine that reads the connection: they only send.
	ring, inserted, locks, try := &message.Rang{}, &message.Rang{Inserted: true}, &message.Rang{Locks: true},
		&message.TryLocks{}
	cancelled, due, beat := &message.CancelRang{}, &message.DueNow{}, &heard{}
	awaited := func(ids []scheduler.JobID) { b.Awaited.Add(ids, time.Now()) }
	followed := func(ids []scheduler.JobID) { b.Followed.Add(ids, time.Now()) }
	go func() {
		defer close(ended)
		if err := b.Bell.Run(ctx,
			func(only bool) {
				m := ring
				if only {
					m = inserted
				}
				b.Tell(message.RoleDispatcher, m)
				b.Tell(message.RoleGate, m)
				b.Tell(message.RoleMaintenance, m)
				b.Rows.Scan()
			},
			func() {
				b.Tell(message.RoleDispatcher, locks)
				b.Tell(message.RoleLocks, try)
				b.Tell(message.RoleMSQs, try)
			},
			func() { b.Tell(message.RoleDispatcher, cancelled) },
			func() { b.Tell(message.RoleMaintenance, due); b.Rows.Scan() },
			func() { root.Send(self, beat) }, awaited, followed); err != nil && ctx.Err() == nil {
			b.Log.Error("bell: cannot listen; the safety scan finds the work", "error", err)
		}
	}()
	b.scan, b.beats = time.NewTicker(b.Every), time.NewTicker(b.Heartbeat)
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
