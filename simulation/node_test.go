package simulation

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bellhop/actors"
	"bellhop/scheduler"
)

// node is a process `serve`: a tree of actors, its connections and its children.
type node struct {
	w        *world
	name     string
	machine  string
	pid      int // a new one for each start
	system   *actors.System
	bell     bell
	launches atomic.Uint64

	mu       sync.Mutex
	dead     bool
	stopped  time.Time // SIGSTOP: until then
	held     []func()  // orders of the tree and words of children that wait for that
	away     time.Time // until then nothing reaches the server, nor comes from there
	deaf     bool      // the connection that listens hears nothing
	cuts     int       // how often all of its connections were cut
	children map[*process]bool
}

var (
	errDead = errors.New("the process is dead")
	errCut  = errors.New("the connection was cut")
	errDown = errors.New("the server does not answer")
)

// pause takes time, and all the time for which the process is stopped.
func (n *node) pause(ctx context.Context, d time.Duration) error {
	for d > 0 {
		timer := time.NewTimer(d)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		n.mu.Lock()
		d = time.Until(n.stopped)
		if n.dead {
			n.mu.Unlock()
			return errDead
		}
		n.mu.Unlock()
	}
	return nil
}

// act does something that a stopped process does when it goes on.
func (n *node) act(f func()) {
	n.mu.Lock()
	if wait := time.Until(n.stopped); wait > 0 || len(n.held) > 0 {
		if n.held = append(n.held, f); len(n.held) == 1 {
			time.AfterFunc(max(wait, 0), n.goOn)
		}
		n.mu.Unlock()
		return
	}
	n.mu.Unlock()
	f()
}

func (n *node) goOn() {
	for {
		n.mu.Lock()
		if wait := time.Until(n.stopped); wait > 0 {
			time.AfterFunc(wait, n.goOn)
			n.mu.Unlock()
			return
		}
		if len(n.held) == 0 {
			n.mu.Unlock()
			return
		}
		f := n.held[0]
		n.mu.Unlock()
		f()
		n.mu.Lock()
		n.held = n.held[min(1, len(n.held)):]
		n.mu.Unlock()
	}
}

// stop is SIGSTOP, and SIGCONT after a while.
func (n *node) stop(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = time.Now().Add(d)
}

// cut ends its connections.
func (n *node) cut() {
	n.mu.Lock()
	n.cuts++
	n.deaf = false // it listens on a new one
	n.mu.Unlock()
	n.bell.reconnected()
}

// kill is SIGKILL. The guard of its children sees that within a second.
func (n *node) kill() {
	n.mu.Lock()
	if n.dead {
		n.mu.Unlock()
		return
	}
	n.dead, n.held = true, nil
	dice := n.dice("guard", 0)
	for p := range n.children {
		time.AfterFunc(time.Duration(dice.Int64N(int64(time.Second))), func() { p.die(scheduler.ChildEvent{}) })
	}
	n.mu.Unlock()
	go n.end(context.Background(), 0)
}

func (n *node) isDead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dead
}

func (n *node) living() []*process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.children))
}

// end ends its tree: running jobs get a while, and are killed then.
func (n *node) end(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	_ = n.tree().Stop(ctx, 20*time.Second) // of a dead process it can be late
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
}

// dice are the luck of one event: which it is decides, not when it comes, nor what came before it.
func (n *node) dice(of string, number uint64) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range []byte(n.name + "/" + of) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(n.w.seed, h^number<<20^uint64(n.pid)<<50))
}

// session is a connection that is opened anew when it is lost: sql/store's.
type session struct {
	n      *node
	name   string
	turn   chan struct{} // one caller at a time. No mutex: time passes while one waits
	at     place
	opened int
	calls  uint64
}

// place is a connection: of which life of the server, and after how many cuts. The zero one: none.
type place struct{ life, cuts int }

func newSession(n *node, name string) *session {
	return &session{n: n, name: name, turn: make(chan struct{}, 1)}
}

// now is where a connection made now leads to, and whether it comes about.
func (c *session) now() (at place, away time.Duration, up bool) {
	c.n.w.mu.Lock()
	defer c.n.w.mu.Unlock()
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return place{c.n.w.life, c.n.cuts}, time.Until(c.n.away), c.n.w.up
}

// patience is how long a statement waits for a server that does not answer.
const patience = 15 * time.Second

// use gives the connection to one caller.
func (c *session) use(ctx context.Context, f func() error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if at, away, up := c.now(); c.opened == 0 || c.at != at {
		c.calls++
		dice := c.n.dice(c.name, c.calls)
		if err := c.n.pause(ctx, 5*time.Millisecond+min(max(away, 0), patience)+latency(dice)); err != nil {
			return err
		}
		if !up || away > patience {
			return &scheduler.Unreachable{Err: errDown}
		}
		c.at, _, _ = c.now()
		c.opened++
	}
	err := f()
	if errors.Is(err, errCut) || errors.Is(err, errDown) {
		c.at = place{-1, -1}
		return &scheduler.Unreachable{Err: err}
	}
	return err
}

// latency is most often below a millisecond.
func latency(dice *rand.Rand) time.Duration {
	d := 100_000 + dice.Int64N(400_000)
	if dice.IntN(20) == 0 {
		d *= dice.Int64N(100)
	}
	return time.Duration(d)
}

// ask sends a statement and brings its answer; waits says that its commit waits for the disk. Where the connection is
// cut it may have been carried out, or be on its way still.
func ask[T any](ctx context.Context, c *session, waits bool, statement func(*server) T) (v T, err error) {
	c.calls++
	dice := c.n.dice(c.name, c.calls)
	luck, late := dice.IntN(100), time.Duration(dice.Int64N(int64(20*time.Second)))
	there, back := latency(dice), latency(dice)
	if waits {
		back += time.Millisecond + latency(dice)
	}
	if err := c.n.pause(ctx, there); err != nil {
		return v, err
	}
	if at, away, up := c.now(); at != c.at || away > 0 || !up {
		if sent := c.at.life; at.life == sent && luck < 50 { // it has left
			time.AfterFunc(late, func() {
				if at, _, up := c.now(); at.life == sent && up {
					c.n.w.tell("%s: what it sent long ago arrives (%s)", c.n.name, c.name)
					run(c.n.w.server, waits, statement)
				}
			})
		}
		if away > 0 {
			_ = c.n.pause(ctx, min(away, patience))
		}
		return v, errCut
	}
	v = run(c.n.w.server, waits, statement)
	if luck < c.n.w.loses() {
		c.n.w.tell("%s: an acknowledgement is lost (%s)", c.n.name, c.name)
		return v, errCut
	}
	if err := c.n.pause(ctx, back); err != nil {
		return v, err
	}
	if at, away, _ := c.now(); at != c.at || away > 0 {
		if away > 0 {
			_ = c.n.pause(ctx, min(away, patience))
		}
		return v, errCut
	}
	return v, nil
}
