package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// fault is one kind of harm at one time.
type fault struct {
	at time.Duration
	do func()
}

// faults draws the harm of a history.
func (w *world) faults(dice *rand.Rand) (list []fault) {
	for range 2 + dice.IntN(6) {
		at, place := time.Duration(dice.Int64N(int64(trouble))), dice.IntN(len(w.nodes))
		kind, long := dice.IntN(10), time.Duration(dice.Int64N(int64(2*lag)))
		luck := dice.Float64()
		list = append(list, fault{at, func() { w.harm(kind, place, long, luck) }})
	}
	return list
}

// harm does it. Of a place without a process it starts one.
func (w *world) harm(kind, place int, long time.Duration, luck float64) {
	w.mu.Lock()
	n := w.nodes[place]
	w.mu.Unlock()
	if kind < 6 && n == nil {
		w.start(place)
		return
	}
	down := 100*time.Millisecond + long/10
	switch kind {
	case 0:
		w.tell("%s is stopped for %s", n.name, long)
		n.stop(long)
	case 1:
		w.tell("%s is killed", n.name)
		w.leave(place)
		n.kill()
		time.AfterFunc(long, func() { w.join(place) })
	case 2:
		w.tell("%s is told to end", n.name)
		w.leave(place)
		go n.end(context.Background(), long/4)
		time.AfterFunc(long, func() { w.join(place) })
	case 3:
		w.tell("%s loses all connections", n.name)
		n.cut()
	case 4:
		w.tell("%s does not reach the server for %s", n.name, long)
		n.mu.Lock()
		n.away = time.Now().Add(long)
		n.mu.Unlock()
	case 5:
		w.tell("%s hears nothing", n.name)
		n.mu.Lock()
		n.deaf = true
		n.mu.Unlock()
	case 6:
		w.tell("acknowledgements are lost for %s", long/4)
		w.mu.Lock()
		w.lossy = time.Now().Add(long / 4)
		w.mu.Unlock()
	case 7:
		w.restart(down, fmt.Sprintf("the server crashes, for %s", down), func(s *server) { s.crash(luck) })
	default:
		lacks := time.Duration(luck * float64(4*time.Second))
		w.restart(down, fmt.Sprintf("a standby is promoted after %s that lacks the last %s", down, lacks), func(s *server) {
			s.promote(fmt.Sprintf("server, timeline %d", s.life+2), lacks)
		})
	}
}

// restart ends the server's life, and begins another after a while.
func (w *world) restart(down time.Duration, what string, how func(*server)) {
	w.mu.Lock()
	if !w.up {
		w.mu.Unlock()
		return
	}
	w.up = false
	w.mu.Unlock()
	w.tell("%s", what)
	before := run(w.server, false, func(s *server) (names map[string]bool) {
		names = map[string]bool{}
		for _, j := range s.rows {
			names[j.name] = true
		}
		return names
	})
	how(w.server)
	w.forgotten(strings.HasPrefix(what, "a standby"))
	after, life := map[string]bool{}, 0
	run(w.server, false, func(s *server) bool {
		for _, j := range s.sorted() {
			after[j.name] = true
			w.witness.forget(j)
			if j.state.Final() {
				continue
			}
			w.tell("job %d %s is back to %s under %d, attempt %d, instance %d", j.id, j.name, j.state, j.fence, j.attempt,
				j.instance)
		}
		life = s.life
		return true
	})
	w.mu.Lock()
	for name := range before {
		w.gone[name] = w.gone[name] || !after[name]
	}
	w.life = life
	w.mu.Unlock()
	time.AfterFunc(down, func() {
		w.tell("the server answers")
		w.mu.Lock()
		w.up = true
		waiting := w.waiting
		w.waiting = nil
		w.mu.Unlock()
		for _, p := range waiting {
			w.submit(p)
		}
	})
}

func (w *world) leave(place int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[place] = nil
}

func (w *world) join(place int) {
	w.mu.Lock()
	there := w.nodes[place] != nil
	w.mu.Unlock()
	if !there {
		w.start(place)
	}
}

// heal ends all harm.
func (w *world) heal() {
	w.tell("everything is healed")
	w.mu.Lock()
	w.lossy = time.Time{}
	nodes := append([]*node(nil), w.nodes...)
	w.mu.Unlock()
	for _, n := range nodes {
		if n != nil {
			n.mu.Lock()
			n.deaf, n.away, n.stopped = false, time.Time{}, time.Time{}
			n.mu.Unlock()
		}
	}
	for place := range nodes {
		w.join(place)
	}
}
