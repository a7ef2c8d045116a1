package actors

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	engines "bellhop/actors/engine"
	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/scheduler"
	"bellhop/scheduler/engine"
)

// fakeEngine is an engine in virtual time, and its book of tags.
type fakeEngine struct {
	mu      sync.Mutex
	calls   map[string]int
	at      map[string]int // how many calls run at once
	most    map[string]int // and ever did
	there   map[string]int // by tag: how often it was submitted
	killed  int            // calls that were killed
	records time.Duration  // how long recording takes
	takes   time.Duration  // how long a call does
	down    bool
	hangs   bool
	logs    bool
	wrote   string // by each job
	all     string // what poll says of each
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{calls: map[string]int{}, at: map[string]int{}, most: map[string]int{}, there: map[string]int{},
		all: "running"}
}

func (f *fakeEngine) Look(_ context.Context, _ scheduler.InstanceID, claims []scheduler.Claim) (
	map[scheduler.Claim]engine.Tag, error) {
	found := map[scheduler.Claim]engine.Tag{}
	for _, c := range claims {
		found[c] = engine.Tag{}
	}
	return found, nil
}

func (f *fakeEngine) Record(_ context.Context, _ scheduler.InstanceID, _ string, claims []scheduler.Claim) (
	[]scheduler.Claim, error) {
	time.Sleep(f.records) // virtual
	return claims, nil
}

func (f *fakeEngine) Save(context.Context, scheduler.InstanceID, []engine.Row, time.Time) error {
	return nil
}

func (f *fakeEngine) Sweep(context.Context, scheduler.InstanceID, scheduler.TypeName) ([]engine.Ref, error) {
	return nil, nil
}

func (f *fakeEngine) Swept(context.Context, []string) error { return nil }

func (f *fakeEngine) Run(ctx context.Context, call scheduler.EngineCall, _ func() time.Duration) scheduler.EngineSaid {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[call.Op]++
	f.at[call.Op]++
	f.most[call.Op] = max(f.most[call.Op], f.at[call.Op])
	takes := f.takes
	if f.hangs {
		takes = time.Hour
	}
	f.mu.Unlock()
	select {
	case <-time.After(takes): // virtual
	case <-ctx.Done():
	}
	f.mu.Lock()
	f.at[call.Op]--
	if ctx.Err() != nil {
		f.killed++
		return scheduler.EngineSaid{Failed: "killed: its instance stops"}
	}
	if f.down {
		return scheduler.EngineSaid{Failed: "exit status 1", Code: 1}
	}
	var out strings.Builder
	switch call.Op {
	case "submit":
		f.there[call.Args[0]]++
	case "logs":
		out.WriteString(f.wrote)
	case "find", "poll":
		for tag := range strings.FieldsSeq(call.In) {
			if f.there[tag] > 0 {
				fmt.Fprintln(&out, tag, map[string]string{"poll": f.all}[call.Op])
			}
		}
	}
	return scheduler.EngineSaid{Out: out.String()}
}

// change changes how it behaves.
func (f *fakeEngine) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
}

// count is how often a command was called, and how often at once.
func (f *fakeEngine) count(op string) (n, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op], f.most[op]
}

func (f *fakeEngine) submits() (n, twice int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, times := range f.there {
		n++
		if times > 1 {
			twice++
		}
	}
	return n, twice
}

// playEngine plays the host of an engine.
func playEngine(t *testing.T, f *fakeEngine, with func(s *feeder)) {
	t.Helper()
	spec := port.EngineSpec{Engine: "fake", Type: "a", Rules: engine.Defaults, Poll: 2 * time.Second, Submits: 4,
		Logs: f.logs}
	cfg := Config{Agents: []port.AgentType{{Name: "a", Max: 20_000}}, Retry: scheduler.DefaultRetry,
		Tags: f, Leftovers: f, EngineCommands: f,
		Hosts: []port.HostSpec{{Name: "h", Slots: 20_000, Engine: &spec}}}
	play(t, cfg, func(s *stage) {
		s.listen(message.RoleDispatcher, message.RoleMembership, message.RoleMSQs, message.RoleHosts)
		s.start(message.RoleHost("h"), engines.New(s.forEngine("h"), s.Hosts[0]))
		with(&feeder{stage: s})
	})
}

// feeder is a dispatcher with jobs.
type feeder struct {
	*stage
	epoch uint64
	asked int
	next  scheduler.JobID
}

// hear lets time pass, and takes what is asked for.
func (d *feeder) hear(wait time.Duration) {
	d.Helper()
	for _, m := range after[*message.Credits](d.stage, wait, message.RoleDispatcher) {
		if m.Epoch != d.epoch {
			d.epoch, d.asked = m.Epoch, 0
		}
		d.asked += m.Now["a"]
	}
}

// feed deals so many jobs, as fast as they are asked for.
func (d *feeder) feed(n int) {
	d.Helper()
	for wait := 0; n > 0; wait++ {
		if d.hear(time.Second); wait == 3600 {
			d.Fatalf("%d jobs were never asked for", n)
		}
		var lines []scheduler.Line
		for ; n > 0 && d.asked > 0; n, d.asked = n-1, d.asked-1 {
			d.next++
			line := lineOf(d.next)
			line.Instance = d.ID()
			lines = append(lines, line)
		}
		if len(lines) > 0 {
			d.Tell(message.RoleHost("h"), message.Deals{{Epoch: d.epoch, Type: "a", Lines: lines}})
		}
	}
}

func (s *stage) owed(kind scheduler.RecordKind) (n int) {
	batch, _, _ := s.outbox.Take(time.Now())
	for _, r := range batch.Records {
		if r.Kind == kind {
			n++
		}
	}
	return n
}

// Calls are as many as their pace allows, whatever the number of jobs: each is submitted once.
func TestEngine_FewCallsFor10000Jobs(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	f.takes = 10 * time.Millisecond
	playEngine(t, f, func(s *feeder) {
		s.feed(10_000)
		s.hear(time.Minute)
		if n, twice := f.submits(); n != 10_000 || twice > 0 {
			t.Fatalf("%d are submitted, %d of them twice", n, twice)
		}
		if _, most := f.count("submit"); most > 4 {
			t.Errorf("%d calls of submit at once", most)
		}
		was, _ := f.count("poll")
		s.hear(2 * time.Minute)
		if n, most := f.count("poll"); n-was > 61 || n-was < 40 || most > 1 {
			t.Errorf("poll was called %d times in two minutes, %d at once", n-was, most)
		}
		if n, _ := f.count("find"); n > 0 {
			t.Errorf("find was called %d times, and nothing is unknown", n)
		}
		f.change(func() { f.all = "succeeded" })
		s.hear(10 * time.Second)
		if n := s.owed(scheduler.RecordSettle); n != 2000 { // batchMost of them
			t.Errorf("%d outcomes are owed", n)
		}
	})
}

// Where a lease is over between a tag and its submit, the job is another instance's:
// this one never submits it, whatever it is called afterwards.
func TestEngine_SubmitsNothingThatWasLeft(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	f.records = 10 * time.Second
	playEngine(t, f, func(s *feeder) {
		s.feed(1)
		s.SetLease(time.Now())
		s.hear(time.Minute) // the tag is recorded meanwhile
		s.Tell(message.RoleHost("h"), &message.Fenced{})
		s.hear(time.Second)
		s.Become(2)
		s.SetLease(time.Now().Add(24 * time.Hour))
		s.Tell(message.RoleHost("h"), &message.Leased{})
		s.hear(10 * time.Minute)
		if n, _ := f.count("submit"); n > 0 {
			t.Errorf("submit was called %d times", n)
		}
		if n := s.owed(scheduler.RecordRequeue); n != 1 {
			t.Errorf("given back %d times", n)
		}
		s.feed(1)
		s.hear(time.Minute)
		if n, twice := f.submits(); n != 1 || twice > 0 {
			t.Errorf("under its new name %d are submitted", n)
		}
	})
}

// What runs when the lease is lost is killed, also where the next lease comes at
// once; and no job is asked for before it is dead.
func TestEngine_CallsDieWithTheirLease(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	f.hangs = true
	playEngine(t, f, func(s *feeder) {
		s.feed(1)
		s.hear(time.Minute)
		if n, _ := f.count("submit"); n != 1 {
			t.Fatalf("submit was called %d times", n)
		}
		s.SetLease(time.Now())
		s.Tell(message.RoleHost("h"), &message.Fenced{})
		s.Become(2)
		s.SetLease(time.Now().Add(24 * time.Hour))
		s.asked = 0
		s.hear(time.Second)
		if f.change(func() {}); f.killed != 1 {
			t.Errorf("%d calls were killed", f.killed)
		}
		if s.asked == 0 {
			t.Error("nothing is asked for under its new name")
		}
		if got := after[*message.Trouble](s.stage, time.Second, message.RoleMembership); len(got) > 0 {
			t.Errorf("the engine is said to be in trouble: %+v", got[0])
		}
	})
}

// An engine that did not take a job is tried again when that job is gone: nothing else would find out that it does.
func TestEngine_IsTriedAgainWhenTheJobItRefusedIsGone(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	f.down = true
	playEngine(t, f, func(s *feeder) {
		s.feed(1)
		s.hear(10 * time.Second)
		s.Tell(message.RoleHost("h"), &message.CancelJob{Claim: claimOf(1)})
		f.change(func() { f.down = false })
		s.hear(0)
		s.feed(1)
		s.hear(10 * time.Second)
		if n, _ := f.submits(); n != 1 {
			t.Errorf("%d are submitted", n)
		}
		if s.asked < 2 {
			t.Errorf("%d more are asked for", s.asked)
		}
	})
}

// A type's max is of jobs that somebody watches: an actor that has ended watches none.
func TestEngine_CountsForNothingWhenItHasEnded(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	playEngine(t, f, func(s *feeder) {
		s.feed(100)
		s.hear(time.Minute)
		if n := s.quotas.Of("a").Alive.Load(); n != 100 {
			t.Fatalf("%d jobs count", n)
		}
		pid := s.PID(message.RoleHost("h"))
		s.pids = slices.DeleteFunc(s.pids, func(p *actor.PID) bool { return p == pid })
		_ = s.System.Root.StopFuture(pid).Wait()
		if n := s.quotas.Of("a").Alive.Load(); n != 0 {
			t.Errorf("%d jobs still count", n)
		}
	})
}
