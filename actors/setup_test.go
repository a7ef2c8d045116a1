package actors_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/actors"
	"bellhop/actors/port"
	"bellhop/agents"
	"bellhop/scheduler"
	"bellhop/sql/migrate/migrated"
	"bellhop/sql/store"
	"bellhop/triggers"
)

// patience is for what takes a second on a machine with nothing else to do.
const patience = 3 * time.Minute

// env is a database of the test's own, and the tree on it.
type env struct {
	*testing.T
	url    string
	conn   *pgx.Conn
	system *actors.System
	desks  []interface{ Close() }
	log    *logBook
	scan   time.Duration // the safety scan
	gate   *watchedGate

	exclusive scheduler.TypeName // a type that nothing runs beside
	late      time.Duration      // after which the answer to a claim arrives
	minReady  time.Duration
	change    func(*actors.Config) // before it starts; nil: nothing
}

// logBook keeps the tree's log, to be shown when a test fails.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func setup(t *testing.T) *env {
	t.Helper()
	b := &env{T: t, url: migrated.URL(t), log: &logBook{}, scan: 500 * time.Millisecond, minReady: 100 * time.Millisecond}
	conn, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	b.conn = conn
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return b
}

// agent is a type of the tree's, done by this test binary.
type agent struct {
	name scheduler.TypeName
	max  int
	book *journal
}

func startMSQ[D interface{ Close() }](b *env, make func(string) (D, error)) D {
	b.Helper()
	d, err := make(b.url)
	if err != nil {
		b.Fatal(err)
	}
	b.desks = append(b.desks, d)
	return d
}

// start brings up the tree with real sessions, a real bell and a real launcher.
func (b *env) start(slots int, types ...agent) {
	b.Helper()
	claimer, recorder := startMSQ(b, store.NewClaimer), startMSQ(b, store.NewRecorder)
	b.gate = &watchedGate{Gate: startMSQ(b, store.NewGate)}
	registry, maintenance := startMSQ(b, store.NewRegistry), startMSQ(b, store.NewMaintenance)
	queries, err := store.NewCursors(b.url)
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	cfg := actors.Config{Hosts: []port.HostSpec{{Name: "local", Slots: slots}},
		Heartbeat: 200 * time.Millisecond, Lag: 30 * time.Second,
		Respawn: scheduler.RespawnPolicy{Deaths: 5, Window: 3 * time.Second},
		Idle:    time.Hour, MinReady: b.minReady, KillAfter: time.Second, Scan: b.scan,
		ExclusiveAfter: 300 * time.Millisecond,
		Cursors:        4,
		Retry:          scheduler.DefaultRetry, Log: log,
		Queue: queue{claimer, b.late}, Holdings: claimer, Records: recorder, Registry: members{registry},
		Reaper: reaper{registry}, Reports: registry, Maintenance: maintenance, HostStates: registry,
		Bell:  &bell{listener: triggers.Listener{URL: b.url, Heartbeat: beatChannel, Log: log}},
		Locks: startMSQ(b, store.NewAskedLocks),
		Gate:  b.gate, Queries: cursors{queries}}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	var specs []agents.Spec
	for _, a := range types {
		cfg.Agents = append(cfg.Agents,
			port.AgentType{Name: a.name, Max: a.max, Exclusive: a.name == b.exclusive, StartTimeout: time.Minute})
		specs = append(specs, agents.Spec{Type: a.name, Command: []string{self}, Env: a.book.env()})
	}
	launcher := agents.NewLauncher(agents.Config{Specs: specs, Stderr: io.Discard})
	b.Cleanup(launcher.Close)
	cfg.Launcher = launch{launcher}
	if b.change != nil {
		b.change(&cfg)
	}
	b.system = actors.Start(cfg)
	b.Cleanup(func() {
		if b.Failed() {
			b.Logf("the tree's log:\n%s", tail(b.log.String(), 80))
		}
	})
}

func tail(text string, lines int) string {
	list := strings.Split(text, "\n")
	return strings.Join(list[max(0, len(list)-lines):], "\n")
}

// stop ends the tree; what runs is killed and given back.
func (b *env) stop() {
	b.Helper()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.system.Stop(now, patience); err != nil {
		b.Error(err)
	}
	b.close()
}

func (b *env) close() {
	for _, d := range b.desks {
		d.Close()
	}
	b.desks = nil
}

func (b *env) exec(text string, args ...any) {
	b.Helper()
	if _, err := b.conn.Exec(b.Context(), text, args...); err != nil {
		b.Fatalf("%s: %v", text, err)
	}
}

// one reads a single value, as text.
func (b *env) one(text string, args ...any) string {
	b.Helper()
	var s *string
	if err := b.conn.QueryRow(b.Context(), "select ("+text+")::text", args...).Scan(&s); err != nil {
		b.Fatalf("%s: %v", text, err)
	}
	if s == nil {
		return ""
	}
	return *s
}

// count tells how many jobs there are in each state.
func (b *env) count() string {
	b.Helper()
	return b.one(
		"select string_agg(format('%s %s', state, n), ', ' order by state) from (select state, count(*) n from bellhop.jobqueue group by state) x",
	)
}

func (b *env) eventually(reason string, ok func() bool) {
	b.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			b.Fatalf(
				"not within %s: %s; the jobs are: %s\n%s",
				patience,
				reason,
				b.count(),
				b.one(
					"select string_agg(j::text, e'\\n') from (select * from bellhop.jobqueue where state <> 'succeeded' limit 3) j",
				),
			)
		}
		time.Sleep(5 * time.Millisecond) // what is waited for happens in another process
	}
}

// What follows is what cmd/bellhop/internal/serve does in wire.go.

const beatChannel = "bellhop_beat_test"

// watchedGate counts how often the tree fell asleep.
type watchedGate struct {
	*store.Gate
	asked, shut atomic.Int64
}

func (g *watchedGate) Keep(ctx context.Context, shut func()) error {
	g.asked.Add(1)
	return g.Gate.Keep(ctx, func() { g.shut.Add(1); shut() })
}

type queue struct {
	*store.Claimer
	late time.Duration
}

// Claim is the claimer's, over a slow line.
func (q queue) Claim(ctx context.Context, me scheduler.InstanceID, d scheduler.Demand) ([]scheduler.Job, error) {
	jobs, err := q.Claimer.Claim(ctx, me, d)
	time.Sleep(q.late) // the line: nothing is waited for here
	return jobs, err
}

type members struct{ *store.Registry }

func (m members) Register(ctx context.Context) (scheduler.InstanceID, error) {
	return m.Registry.Register(ctx,
		store.Instance{Name: "test", Hostname: "here", Machine: "here", Pid: os.Getpid(), ProcessStart: "1",
			Version: "test", Lag: 30 * time.Second, Agents: []store.Agent{{Type: "solo"}, {Type: "item"}},
			Hosts: []store.Host{{Name: "local", Slots: 10, State: scheduler.HostUp}}})
}

func (m members) Beat(ctx context.Context, id scheduler.InstanceID) (scheduler.Beat, error) {
	return m.Registry.Beat(ctx, id, beatChannel)
}

type reaper struct{ *store.Registry }

func (reaper) Dead(scheduler.Suspect) bool { return false }

func (reaper) Reap(ctx context.Context, s scheduler.Suspect) error {
	return agents.KillLeftovers(ctx, s)
}

type bell struct{ listener triggers.Listener }

func (b *bell) Run(
	ctx context.Context, rang func(inserted bool), locksRang, cancelRang, dueRang, beat func(),
	awaited, followed func([]scheduler.JobID),
) error {
	b.listener.Rang, b.listener.LocksRang, b.listener.CancelRang = rang, locksRang, cancelRang
	b.listener.DueRang, b.listener.Beat = dueRang, beat
	b.listener.Awaited, b.listener.Followed = awaited, followed
	return b.listener.Run(ctx)
}

func (b *bell) Cut() { b.listener.Cut() }

type cursors struct{ *store.Cursors }

func (c cursors) Open(ctx context.Context, text string) (port.Rows, error) {
	cursor, err := c.Cursors.Open(ctx, text, 1000)
	if err != nil {
		return nil, err
	}
	return cursor, nil
}

type launch struct{ *agents.Launcher }

func (l launch) Serves(id scheduler.InstanceID) { l.SetInstance(id) }

func (l launch) Launch(
	typ scheduler.TypeName, child scheduler.ChildName, host scheduler.HostName, lease time.Duration, wake func(),
) (port.Process, error) {
	p, err := l.Launcher.Launch(typ, child, host, lease, wake)
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return p, nil
}
