package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/actors"
	"bellhop/actors/port"
	"bellhop/instance"
	"bellhop/machine"
	"bellhop/observability/traces"
	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql"
	"bellhop/sql/dial"
	"bellhop/sql/migrate"
	"bellhop/sql/store"
	"bellhop/triggers"
)

// What `bellhop serve` takes unless its configuration says otherwise.
const (
	heartbeat = 2 * time.Second
	lag       = 10 * time.Second
	cursors   = 8 // queries (MSQ jobs) that are read at once: each holds a connection meanwhile
	patience  = 5 * time.Second
	// tracePatience is how long what is left of spans may take to be sent at the end.
	tracePatience = 2 * time.Second
)

// running is a tree with all that was opened for it.
type running struct {
	*actors.System
	past     *instance.Past
	tracer   *traces.Tracer // nil: no spans are wanted
	registry *store.Registry
	closers  []interface{ Close() }
}

// How often a database that is away is tried while Run begins, and how long one try to connect may take.
const awayFirst, awayMost, awayPatience = 50 * time.Millisecond, 5 * time.Second, 10 * time.Second

// awaitSchema is checkSchema, but waits for a database that is away. It gives no error when ctx ends.
func (w *worker) awaitSchema(ctx context.Context, pool *pgxpool.Pool) error {
	for pause := awayFirst; ; pause = min(2*pause, awayMost) {
		err := checkSchema(ctx, pool)
		switch {
		case err == nil, ctx.Err() != nil:
			return nil
		case !errors.Is(err, errSlow) && (!dial.Lost(err) || dial.Judge(err) == dial.Shut):
			return err
		}
		w.log.Warn("the database is away: this instance begins when it answers", "error", err, "again_in", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// errSlow: there was no connection within awayPatience.
var errSlow = errors.New("no answer")

// checkSchema refuses a database that this program cannot work with.
func checkSchema(ctx context.Context, pool *pgxpool.Pool) error {
	plan, err := migrate.New(sql.Migrations, triggers.Scripts)
	if err != nil {
		return err
	}
	once, cancel := context.WithTimeoutCause(ctx, awayPatience, errSlow)
	defer cancel()
	conn, err := pool.Acquire(once)
	if err != nil {
		if once.Err() != nil {
			err = context.Cause(once)
		}
		return fmt.Errorf("reach the database: %w", err)
	}
	defer conn.Release()
	if err = migrate.WaitForOthers(ctx, conn.Conn(), func() {}); err == nil {
		err = plan.Check(ctx, conn.Conn())
	}
	if err != nil && conn.Conn().IsClosed() { // one that the pool had kept, and that broke
		return fmt.Errorf("%w: %w", errSlow, err)
	}
	return err
}

// desks are the ports of the tree to the database. Each connects at its first use.
type desks struct {
	claimer     *store.Claimer
	recorder    *store.Recorder
	registry    *store.Registry
	maintenance *store.Maintenance
	locks       *store.AskedLocks
	steps       *store.Steps
	gate        *store.Gate
	attacher    *store.Attacher
	sensors     *store.Sensors
	metrics     *store.Metrics
	queries     *store.Cursors
}

// openDesks reads two URLs: the pool's, and the server's own. They differ if the pool goes through a pooler.
func (w *worker) openDesks(url, direct string) (d desks, err error) {
	var errs [11]error
	d.claimer, errs[0] = store.NewClaimer(url)
	d.recorder, errs[1] = store.NewRecorder(url)
	d.registry, errs[2] = store.NewRegistry(url)
	d.maintenance, errs[3] = store.NewMaintenance(url)
	d.locks, errs[4] = store.NewAskedLocks(url)
	d.gate, errs[5] = store.NewGate(direct)
	d.attacher, errs[6] = store.NewAttacher(url, direct, false)
	d.sensors, errs[7] = store.NewSensors(url)
	d.metrics, errs[8] = store.NewMetrics(url)
	d.queries, errs[9] = store.NewCursors(url)
	d.steps, errs[10] = store.NewSteps(url)
	if err = errors.Join(errs[:]...); err != nil {
		return d, err
	}
	d.maintenance.ExplainThrough(d.claimer)
	d.maintenance.Counts = &store.Counts{}
	d.claimer.Policy, d.maintenance.Policy, d.locks.Policy = lock.AnyLevel, lock.AnyLevel, lock.AnyLevel
	d.claimer.Templates, d.claimer.Log = lock.Templates{}, w.log
	for typ, h := range w.handlers {
		if len(h.locks) > 0 {
			d.claimer.Templates[string(typ)] = h.locks
		}
	}
	return d, nil
}

// closers end the connections of all desks.
func (d *desks) closers() []interface{ Close() } {
	return []interface{ Close() }{
		d.claimer, d.recorder, d.registry, d.maintenance, d.locks, d.steps, d.gate, d.attacher, d.sensors, d.metrics,
		store.NewShared(d.recorder, d.registry, d.maintenance, d.locks, d.steps, d.gate, d.attacher, d.sensors, d.metrics),
	}
}

// start wires the ports of package actors to what implements them, and starts the
// tree: what `bellhop serve` does, with handlers in place of agents.
func (w *worker) start(url string, stop func()) (*running, error) {
	direct := url
	if w.listen != "" {
		url, direct = w.listen, w.listen
	}
	d, err := w.openDesks(url, direct)
	me, known := w.introduce()
	if err := errors.Join(err, known); err != nil {
		return nil, err
	}
	i := &running{past: &instance.Past{Log: w.log}, registry: d.registry, closers: d.closers()}
	if i.tracer, err = w.startTraces(me.Name, d.metrics); err != nil {
		return nil, err
	}
	beat := fmt.Sprintf("bellhop_beat_%016x", rand.Uint64())
	i.System = actors.Start(actors.Config{
		Hosts: []port.HostSpec{{Name: scheduler.HostName(me.Hosts[0].Name), Slots: w.slots}}, Agents: w.agents(),
		Heartbeat: heartbeat, Lag: lag,
		Respawn: scheduler.RespawnPolicy{Deaths: 5, Window: 5 * time.Minute},
		Idle:    15 * time.Minute, MinReady: 20 * time.Second, KillAfter: 20 * time.Second,
		Scan: 5 * time.Second, ExclusiveAfter: time.Minute, Cursors: cursors, Retry: scheduler.DefaultRetry, Log: w.log,
		Queue:    tracedQueue{instance.Claimed{Queue: d.claimer, Past: i.past}, i.tracer},
		Holdings: d.claimer,
		Records: instance.Counted{Records: tracedRecords{instance.Recorded{Records: d.recorder, Past: i.past}, i.tracer},
			Counts: d.maintenance.Counts},
		Registry: members{d.registry, me, beat, i.past},
		Observer: tracedTries{instance.Tries{Past: i.past}, i.tracer},
		Reaper:   reaper{d.registry}, Reports: d.registry, Maintenance: d.maintenance, HostStates: d.registry,
		Stop:  func(scheduler.Stop) { stop() },
		Bell:  &instance.Bell{Listener: triggers.Listener{URL: direct, Heartbeat: beat, Log: w.log}},
		Gate:  d.gate,
		Locks: d.locks, ItemLocks: d.locks, Steps: d.steps,
		Queries: instance.Queries{Cursors: d.queries}, Attachments: d.attacher,
		Sensors:  d.sensors,
		Launcher: w,
	})
	w.tree.Store(i.System)
	return i, nil
}

// introduce is how this instance presents itself to the others.
func (w *worker) introduce() (me store.Instance, err error) {
	name, hostname, err := w.called()
	if err != nil {
		return me, err
	}
	start, err := machine.ProcessStart(os.Getpid())
	if err != nil {
		return me, fmt.Errorf("find out when this process started: %w", err)
	}
	me = store.Instance{Name: name, Hostname: hostname, Machine: machine.This(), Pid: os.Getpid(), ProcessStart: start,
		Version: "worker", Lag: lag, Queries: cursors,
		Hosts: []store.Host{{Name: name, Slots: w.slots, State: scheduler.HostUp}}}
	for typ, h := range w.handlers {
		me.Agents = append(me.Agents, store.Agent{Type: string(typ), Mode: "handler", Dialect: "go",
			Command: "(a handler inside an app)", Max: h.max, Retry: h.retry, Locks: h.texts,
			Share: h.share})
	}
	return me, nil
}

func (w *worker) agents() (list []port.AgentType) {
	for typ, h := range w.handlers {
		list = append(list, port.AgentType{Name: typ, Max: h.max, Locked: len(h.locks) > 0, Timeout: h.timeout,
			StartTimeout: time.Minute, Retry: h.retry})
	}
	return list
}

// end ends the tree, tells the others that nothing here runs any more, and lets go
// of the connections. What runs may finish within grace.
func (i *running) end(grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := i.Stop(ctx, patience)
	id := i.ID()
	i.past.Write(context.Background(), i.registry, id, true)
	if id != 0 && err == nil {
		bury := func() error {
			bye, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, _, err := i.registry.MarkGone(bye, id, "it was stopped", true)
			return err
		}
		if err = bury(); err != nil { // a connection that broke since the last heartbeat is found out by its use
			err = bury()
		}
	} else if i.Processes() > 0 {
		err = fmt.Errorf("%w (%w)", ErrHandlers, err)
	}
	spans, sent := context.WithTimeout(context.Background(), tracePatience)
	defer sent()
	i.tracer.Stop(spans)
	for _, c := range i.closers {
		c.Close()
	}
	return err
}

// The adapters: what two packages call the same thing, here they are one.

// members is where this instance says that it lives.
type members struct {
	*store.Registry
	me   store.Instance
	beat string
	past *instance.Past
}

func (m members) Register(ctx context.Context) (scheduler.InstanceID, error) {
	return m.Registry.Register(ctx, m.me)
}

func (m members) Beat(ctx context.Context, id scheduler.InstanceID) (scheduler.Beat, error) {
	b, err := m.Registry.Beat(ctx, id, m.beat)
	if err == nil {
		m.past.Write(ctx, m.Registry, id, false)
	}
	return b, err
}

// reaper buries instances that have been silent for too long. It takes none for dead before: an app does not kill
// the processes that a dead neighbour has left.
type reaper struct{ *store.Registry }

func (reaper) Dead(scheduler.Suspect) bool                   { return false }
func (reaper) Reap(context.Context, scheduler.Suspect) error { return nil }
