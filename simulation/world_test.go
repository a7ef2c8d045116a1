package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"bellhop/actors"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

const (
	typ       = scheduler.TypeName("work")
	heartbeat = 2 * time.Second
	lag       = 10 * time.Second
	trouble   = time.Minute     // for so long there are faults
	recovery  = 5 * time.Minute // and then everything has to end within that
	// recovers is what docs/reliability.md promises of a job that comes after the last fault.
	recovers = lag + heartbeat + 10*time.Second
)

// plan is what an agent does with a job.
type plan struct {
	name          string
	at            time.Duration // when it is submitted
	commits       time.Duration // and how long after that this is committed
	takes         time.Duration
	deaths, fails int // so many attempts kill the agent, and then so many fail
	most          int
	needs         int           // the plan of the job that it needs; -1: none
	cancelled     time.Duration // after its commit; 0: never
}

// world is one history.
type world struct {
	seed    uint64
	began   time.Time
	server  *server
	witness *witness
	plans   []plan

	mu      sync.Mutex
	life    int  // of the server
	up      bool // it answers
	lossy   time.Time
	told    map[scheduler.Claim]string // outcomes whose write was acknowledged
	waiting []*plan                    // for a server that answers
	nodes   []*node                    // by place
	pids    map[int]*node              // every process that there was
	ids     map[string]int64           // of jobs, as their submitters know them
	gone    map[string]bool            // jobs that a failover has lost
	events  []string
	wrong   []string
}

func newWorld(seed uint64, without guard) *world {
	w := &world{seed: seed, began: time.Now(), server: newServer(time.Now), up: true, pids: map[int]*node{},
		ids: map[string]int64{}, gone: map[string]bool{}, told: map[scheduler.Claim]string{}, nodes: make([]*node, 3)}
	w.server.without = without
	w.server.notify = w.notify
	w.server.happened = w.happened
	luck := rand.New(rand.NewPCG(seed, 2))
	w.server.skip = func(int) int64 { return luck.Int64N(900_000) }
	w.witness = newWitness(w)
	return w
}

func (w *world) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, fmt.Sprintf("%10.6f  ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

// violated records that a promise is broken.
func (w *world) violated(promise, format string, args ...any) {
	text := promise + ": " + fmt.Sprintf(format, args...)
	w.tell("VIOLATED %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, text)
}

// loses is how many of a hundred acknowledgements are lost now.
func (w *world) loses() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.lossy) {
		return 20
	}
	return 0
}

func (w *world) process(pid int) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pids[pid]
}

// notify is called by a statement; what it tells is heard later.
func (w *world) notify(c channel, me scheduler.InstanceID) {
	w.mu.Lock()
	nodes := append([]*node(nil), w.nodes...)
	w.mu.Unlock()
	for _, n := range nodes {
		if n == nil {
			continue
		}
		if system := n.tree(); c != beatRang || system != nil && system.ID() == me {
			n.bell.hears(c)
		}
	}
}

// happened is called by a statement that has changed a row.
func (w *world) happened(was, is row) {
	w.tell("job %d %s: %s under %d, attempt %d, instance %d", is.id, is.name, is.state, is.fence, is.attempt, is.instance)
	if was.state == scheduler.Assigned { // its start may have been lost, in a crash
		was.state = scheduler.Running
	}
	if was.state != "" && was.state != is.state && !was.state.CanBecome(is.state) || was.state.Final() {
		w.violated("no outcome twice", "job %d %s is %s, and was %s", is.id, is.name, is.state, was.state)
	}
}

// start brings up a process in a place.
func (w *world) start(place int) {
	w.mu.Lock()
	pid := len(w.pids) + 1
	n := &node{w: w, name: string(rune('a' + place)), machine: fmt.Sprint("machine ", place/2), pid: pid,
		children: map[*process]bool{}}
	n.bell = bell{n: n}
	w.pids[pid], w.nodes[place] = n, n
	w.mu.Unlock()
	w.tell("%s starts", n.name)
	p := newPorts(n)
	system := actors.Start(actors.Config{
		Hosts:     []port.HostSpec{{Name: "local", Slots: 3}},
		Agents:    []port.AgentType{{Name: typ, StartTimeout: time.Minute}},
		Heartbeat: heartbeat, Lag: lag, Scan: 5 * time.Second, Idle: time.Minute, MinReady: time.Second,
		KillAfter: time.Second, ExclusiveAfter: time.Minute, Cursors: 1,
		Respawn: scheduler.RespawnPolicy{Deaths: 5, Window: 5 * time.Minute},
		Retry:   scheduler.RetryPolicy{Attempts: 1, First: time.Second, Most: time.Minute, Factor: 2},
		Log:     slog.New(&storyLog{w: w, name: n.name}), Stop: func(scheduler.Stop) {},
		Queue: p, Holdings: p, Records: p, Registry: p, Reaper: p, Reports: p, Maintenance: p, HostStates: p, Bell: p,
		Gate: p, Queries: p, Launcher: launcher{n},
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	n.system = system
}

// storyLog makes the log of a tree a part of the story.
type storyLog struct {
	slog.Handler
	w    *world
	name string
}

func (l *storyLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *storyLog) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		return true
	})
	if strings.Contains(r.Message, "panicked") {
		l.w.violated("no panic", "%s: %s%s", l.name, r.Message, b.String())
	}
	l.w.tell("%s: log: %s%s", l.name, r.Message, b.String())
	return nil
}

// live goes through a whole history, and checks it.
func (w *world) live() {
	dice := rand.New(rand.NewPCG(w.seed, 1))
	w.plans = work(dice)
	for place := range w.nodes {
		if place < 2 || dice.IntN(2) == 0 {
			w.start(place)
		}
	}
	for i := range w.plans {
		time.AfterFunc(w.plans[i].at, func() { w.submit(&w.plans[i]) })
	}
	for _, f := range w.faults(dice) {
		time.AfterFunc(f.at, f.do)
	}
	time.Sleep(trouble + time.Second)
	w.heal()
	probe := plan{name: "probe", takes: time.Second, most: 1, needs: -1}
	time.Sleep(time.Second)
	w.submit(&probe)
	healed := time.Now()
	var ended time.Duration
	for time.Since(healed) < recovery && (ended == 0 || !w.idle()) {
		time.Sleep(time.Second)
		w.mu.Lock()
		id := w.ids["probe"]
		w.mu.Unlock()
		if ended == 0 && w.row(scheduler.JobID(id)).state.Final() {
			ended = time.Since(healed)
		}
	}
	if ended == 0 || ended > recovers {
		w.violated("recovery", "a job that came after the last fault took %s", ended)
	}
	w.plans = append(w.plans, probe)
	w.end()
	w.check()
}

// work draws what is submitted.
func work(dice *rand.Rand) (plans []plan) {
	for i := range 15 + dice.IntN(20) {
		p := plan{name: fmt.Sprintf("j%02d", i), at: time.Duration(dice.Int64N(int64(trouble))), needs: -1, most: 1}
		if i > 0 && dice.IntN(3) > 0 { // jobs come in bursts
			p.at = plans[i-1].at + time.Millisecond
		}
		if dice.IntN(8) == 0 {
			p.commits = time.Duration(dice.Int64N(int64(3 * time.Second)))
		}
		p.takes = time.Duration(dice.Int64N(int64(2*time.Second))) + time.Millisecond
		if dice.IntN(4) == 0 {
			p.takes *= 6
		}
		switch dice.IntN(8) {
		case 0:
			p.fails, p.most = 1+dice.IntN(2), 1+dice.IntN(3)
		case 1:
			p.deaths, p.most = 1+dice.IntN(3), 1+dice.IntN(4)
		case 2:
			if i > 0 {
				p.needs = dice.IntN(i)
			}
		case 3:
			p.cancelled = time.Duration(dice.Int64N(int64(8 * time.Second)))
		}
		plans = append(plans, p)
	}
	return plans
}

// submit is an app. Its INSERT gets a number, and commits later perhaps. An app does not know what a lost commit was.
func (w *world) submit(p *plan) {
	w.mu.Lock()
	if !w.up { // it tries again, and is there before any instance is
		w.waiting = append(w.waiting, p)
		w.mu.Unlock()
		return
	}
	at := w.life
	w.mu.Unlock()
	id := run(w.server, false, func(s *server) int64 { return s.next(0) })
	time.AfterFunc(p.commits, func() {
		if up, life := w.answers(); !up || life != at {
			w.submit(p) // its transaction was undone with the connection
			return
		}
		w.mu.Lock()
		var needs scheduler.JobID
		if p.needs >= 0 {
			needs = scheduler.JobID(w.ids[w.plans[p.needs].name])
		}
		w.ids[p.name] = id
		w.mu.Unlock()
		run(w.server, true, func(s *server) row {
			if needs != 0 && s.rows[needs].name != w.plans[p.needs].name {
				needs = 0 // it was lost
			}
			return s.submit(row{id: scheduler.JobID(id), name: p.name, most: p.most, needs: needs})
		})
		if p.cancelled > 0 {
			time.AfterFunc(p.cancelled, func() { w.cancel(p.name, scheduler.JobID(id)) })
		}
	})
}

func (w *world) cancel(name string, id scheduler.JobID) {
	if up, _ := w.answers(); up {
		w.tell("%s is to be cancelled", name)
		run(w.server, true, func(s *server) bool { return s.rows[id].name == name && s.cancel(id) })
	}
}

func (w *world) answers() (up bool, life int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.up, w.life
}

func (w *world) row(id scheduler.JobID) row {
	return run(w.server, false, func(s *server) row { return s.rows[id] })
}

// idle reports whether every job has ended.
func (w *world) idle() bool {
	return run(w.server, false, func(s *server) bool {
		for _, j := range s.rows {
			if !j.state.Final() {
				return false
			}
		}
		return true
	})
}

// end stops all instances in order.
func (w *world) end() {
	var wait sync.WaitGroup
	for _, n := range w.nodes {
		if n != nil {
			wait.Go(func() { n.end(context.Background(), time.Minute) })
		}
	}
	wait.Wait()
}

// tree is the node's, once it has come up: its actors run before.
func (n *node) tree() *actors.System {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	return n.system
}
