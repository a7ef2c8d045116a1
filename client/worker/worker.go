package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/actors"
	"bellhop/actors/port"
	"bellhop/instance"
	"bellhop/scheduler"
	"bellhop/seal"
)

// Part is what Run is given: handlers, and how they are run.
type Part func(*worker) error

// worker is what one Run is made of. To the tree it launches children.
type worker struct {
	handlers map[scheduler.TypeName]*handler
	slots    int
	name     string
	listen   string // URL of connections that no pooler may see; empty: that of the pool
	grace    time.Duration
	log      *slog.Logger
	values   context.Context // handlers see its values
	keys     instance.Opener
	tree     atomic.Pointer[actors.System]
}

// Slots is how many jobs run here at once; without it twice as many as there are
// processors, and at least 4.
func Slots(n int) Part {
	return func(w *worker) error {
		if n < 1 {
			return fmt.Errorf("Slots(%d): at least one is needed", n)
		}
		w.slots = n
		return nil
	}
}

// Name is what the instance, and its host, are called; without it the machine's name.
func Name(name string) Part {
	return func(w *worker) error { w.name = name; return nil }
}

// Direct is the way to the database itself where the pool's leads through a pooler
// (PgBouncer): an instance needs connections of its own.
func Direct(url string) Part {
	return func(w *worker) error { w.listen = url; return nil }
}

// Grace is how long jobs that run when Run is told to end may go on; without it 10 s.
func Grace(d time.Duration) Part {
	return func(w *worker) error { w.grace = d; return nil }
}

// Keys open jobs that are sealed, of client.ReadKeys. A job whose key is not among them waits, see
// docs/encryption.md.
func Keys(keys *seal.Keys) Part {
	return func(w *worker) error { w.keys.Take(keys); return nil }
}

// Logger is told what happens; without it slog.Default.
func Logger(log *slog.Logger) Part {
	return func(w *worker) error { w.log = log; return nil }
}

// ErrHandlers: when Run ended some handlers went on, although their context had ended.
var ErrHandlers = errors.New("handlers go on though their context has ended; their jobs are given to other instances " +
	"when this process ends")

// Run is an instance until ctx ends; then nothing new is begun, what runs gets
// Grace, then its context ends, and what is not done is given back. It opens
// connections of its own to where pool leads, four, six while it works, whose login has to be a
// member of bellhop_scheduler. While the database is away it waits for it, when it begins too.
//
// It returns an error when it cannot begin (no handler, a wrong option, no schema,
// a wrong password, no right), and ErrHandlers.
func Run(ctx context.Context, pool *pgxpool.Pool, parts ...Part) error {
	w := &worker{
		handlers: map[scheduler.TypeName]*handler{},
		slots:    max(4, 2*runtime.NumCPU()),
		grace:    10 * time.Second,
		log:      slog.Default(),
		values:   context.WithoutCancel(ctx),
	}
	for _, part := range parts {
		if err := part(w); err != nil {
			return fmt.Errorf("worker: %w", err)
		}
	}
	if len(w.handlers) == 0 {
		return errors.New("worker: there is no handler; add worker.Handle(type, work)")
	}
	if err := w.awaitSchema(ctx, pool); err != nil {
		return fmt.Errorf("worker: %w", err)
	} else if ctx.Err() != nil { // told to end before it could begin
		return nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	i, err := w.start(pool.Config().ConnString(), func() { stop(errStopped) })
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	<-ctx.Done()
	return i.end(w.grace)
}

// errStopped: an operator's command has ended it.
var errStopped = errors.New("it was told to stop by a command in the queue")

// Launch starts a child: a goroutine.
func (w *worker) Launch(typ scheduler.TypeName, name scheduler.ChildName, host scheduler.HostName,
	lease time.Duration, wake func()) (port.Process, error) {
	h := w.handlers[typ]
	if h == nil {
		return nil, fmt.Errorf("launch %s: there is no handler for type %q", name, typ)
	}
	c := &child{worker: w, handler: h, name: name, host: host, wake: wake, done: make(chan struct{}),
		work: make(chan struct{}, 1)}
	c.Lease(lease)
	c.mu.Lock()
	c.push(scheduler.ChildEvent{Kind: scheduler.EventReady, At: time.Now(), N: h.size})
	c.release()
	go c.run()
	return c, nil
}

// Reach: the app is where it is.
func (w *worker) Reach(context.Context, scheduler.HostName) error { return nil }

// Serves: children need not know whose they are.
func (w *worker) Serves(scheduler.InstanceID) {}

// What children tell the tree. They say nothing before it has started them.

func (w *worker) say(list []scheduler.Entry) { w.tree.Load().Say(list) }
func (w *worker) howFar(h scheduler.HowFar)  { w.tree.Load().HowFar(h) }
func (w *worker) ask(a scheduler.LockAsk, answer func(scheduler.LockAnswer)) {
	w.tree.Load().Ask(a, answer)
}

func (w *worker) saveStep(ctx context.Context, of scheduler.Claim, step scheduler.SavedStep) error {
	return w.tree.Load().SaveStep(ctx, of, step)
}

func (w *worker) called() (name, hostname string, err error) {
	hostname, err = os.Hostname()
	if err != nil {
		return "", "", fmt.Errorf("find this machine's name: %w", err)
	}
	if name = w.name; name == "" {
		name = hostname
	}
	return name, hostname, nil
}
