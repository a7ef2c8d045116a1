package upkeep

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// LockAsks is what running jobs have asked of locks and were not answered yet. It
// outlives the actor that sees to it.
type LockAsks struct {
	turn sync.Mutex // held while they are tried: never twice at once
	mu   sync.Mutex
	open []lockAsked // in the order in which they came
}

// lockAsked is a request. answer must not block.
type lockAsked struct {
	scheduler.LockAsk
	answer func(scheduler.LockAnswer)
}

// Add keeps a request; answer must not block.
func (l *LockAsks) Add(ask scheduler.LockAsk, answer func(scheduler.LockAnswer)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = slices.DeleteFunc(l.open, func(old lockAsked) bool { return old.Claim == ask.Claim })
	l.open = append(l.open, lockAsked{ask, answer})
}

func (l *LockAsks) all() []lockAsked {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.open)
}

// take removes the request of a claim.
func (l *LockAsks) take(c scheduler.Claim) (a lockAsked, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.open, func(o lockAsked) bool { return o.Claim == c })
	if i < 0 {
		return a, false
	}
	a = l.open[i]
	l.open = slices.Delete(l.open, i, i+1)
	return a, true
}

// locks sees to what running jobs ask of locks: at once, when something about
// locks rings, and every second while something waits.
type locks struct {
	LocksPorts
	// owned by Receive
	busy   bool // a try is under way
	rerun  bool // and another is wanted after it
	timer  *time.Timer
	said   tree.Complaint
	ctx    context.Context
	cancel context.CancelFunc
}

func NewLocks(h LocksPorts) *locks { return &locks{LocksPorts: h} }

// Messages of locks.
type (
	lockTick struct{}
	tried    struct{ err error }
)

func (l *locks) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		l.ctx, l.cancel = context.WithCancel(context.Background())
		l.try(c) // one before us may have been about to
	case *message.TryLocks:
		l.try(c)
	case *lockTick:
		l.timer = nil
		l.try(c)
	case *tried:
		l.onTried(c, m)
	case *actor.Stopping:
		l.cancel()
		if l.timer != nil {
			l.timer.Stop()
		}
	}
}

func (l *locks) try(c actor.Context) {
	if l.busy {
		l.rerun = true
		return
	}
	if len(l.Asked.all()) == 0 {
		return
	}
	l.busy, l.rerun = true, false
	h, ctx, self := l.LocksPorts, l.ctx, c.Self()
	go func() { h.System.Root.Send(self, &tried{h.try(ctx)}) }()
}

func (l *locks) onTried(c actor.Context, m *tried) {
	l.busy = false
	if l.said.News(m.err) && l.ctx.Err() == nil {
		l.Log.Warn("locks: cannot answer what jobs ask; it is tried again each second", "error", m.err)
	}
	if l.rerun && m.err == nil {
		l.try(c)
		return
	}
	if l.timer == nil && len(l.Asked.all()) > 0 {
		self, root := c.Self(), l.System.Root
		l.timer = time.AfterFunc(message.LockAgain, func() { root.Send(self, &lockTick{}) })
	}
}

// try answers what can be answered now.
func (h LocksPorts) try(ctx context.Context) error {
	h.Asked.turn.Lock()
	defer h.Asked.turn.Unlock()
	open := h.Asked.all()
	if len(open) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	asks := make([]scheduler.LockAsk, len(open))
	for i, o := range open {
		asks[i] = o.LockAsk
	}
	answers, over, err := h.Desk.Ask(ctx, h.ID(), asks)
	if err != nil {
		return err
	}
	for _, c := range over {
		h.Asked.take(c)
	}
	for c, answer := range answers {
		if len(answer.Granted) > 0 { // before it is used: its end has to be told
			h.Tell(message.RoleDispatcher, &message.LockedNow{Claim: c})
		}
		if asked, there := h.Asked.take(c); there {
			asked.answer(answer)
		}
	}
	return nil
}
