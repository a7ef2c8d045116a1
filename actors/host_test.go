package actors

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"bellhop/actors/host"
	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// launcher starts processes that are ready after a second, and do nothing.
type launcher struct {
	mu        sync.Mutex
	processes []*idleProcess
	refuse    error
}

func (l *launcher) Launch(_ scheduler.TypeName, _ scheduler.ChildName, _ scheduler.HostName, _ time.Duration,
	wake func()) (port.Process, error) {
	if l.refuse != nil {
		return nil, l.refuse
	}
	p := &idleProcess{wake: wake, done: make(chan struct{})}
	time.AfterFunc(time.Second, func() { p.happens(scheduler.ChildEvent{Kind: scheduler.EventReady, At: time.Now()}) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.processes = append(l.processes, p)
	return p, nil
}

func (l *launcher) Reach(context.Context, scheduler.HostName) error { return nil }
func (l *launcher) Serves(scheduler.InstanceID)                     {}

// idleProcess keeps the lines that it is fed.
type idleProcess struct {
	mu      sync.Mutex
	events  []scheduler.ChildEvent
	lines   []scheduler.Line
	wake    func()
	fed     func() // nil: nobody is told
	recalls int
	once    sync.Once
	done    chan struct{}
}

func (p *idleProcess) happens(ev scheduler.ChildEvent) {
	p.mu.Lock()
	p.events = append(p.events, ev)
	p.mu.Unlock()
	p.wake()
}

// dies ends it, with what it has in hand.
func (p *idleProcess) dies() {
	p.once.Do(func() {
		p.happens(scheduler.ChildEvent{Kind: scheduler.EventExited, ExitCode: 139, Signal: 11})
		close(p.done)
	})
}

func (p *idleProcess) Feed(lines []scheduler.Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, lines...)
	if p.fed != nil {
		p.fed()
	}
}

// has is how many lines it has.
func (p *idleProcess) has() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// Recall gives what is behind the line in hand.
func (p *idleProcess) Recall() (behind []scheduler.Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recalls++
	if len(p.lines) > 1 {
		behind, p.lines = p.lines[1:], p.lines[:1]
	}
	return behind
}

func (p *idleProcess) Take(into []scheduler.ChildEvent) []scheduler.ChildEvent {
	p.mu.Lock()
	defer p.mu.Unlock()
	into = append(into, p.events...)
	p.events = nil
	return into
}

func (p *idleProcess) Close()                { p.dies() }
func (p *idleProcess) Kill()                 { p.dies() }
func (p *idleProcess) Lease(time.Duration)   {}
func (p *idleProcess) Done() <-chan struct{} { return p.done }
func (p *idleProcess) Pid() int              { return 1 }

// playHost plays a host of two slots and a type.
func playHost(t *testing.T, l *launcher, with func(s *stage)) {
	t.Helper()
	cfg := Config{Launcher: l, Agents: []port.AgentType{{Name: "a", StartTimeout: time.Minute}},
		Retry: scheduler.DefaultRetry,
		Hosts: []port.HostSpec{{Name: "h", Slots: 2}}, Idle: time.Hour, KillAfter: time.Second,
		Respawn: scheduler.RespawnPolicy{Deaths: 5, Window: 3 * time.Second}}
	play(t, cfg, func(s *stage) {
		s.listen(message.RoleDispatcher, message.RoleMembership, message.RoleMSQs, message.RoleHosts)
		s.start(message.RoleHost("h"), host.New(s.forHosts(), s.Hosts[0]))
		with(s)
	})
}

// offered adds up what a host asked for under its last epoch.
func offered(list []*message.Credits) (epoch uint64, now, room int) {
	for _, m := range list {
		if m.Epoch != epoch {
			epoch, now, room = m.Epoch, 0, 0
		}
		now, room = now+m.Now["a"], room+m.Room
	}
	return epoch, now, room
}

func lineOf(job scheduler.JobID) scheduler.Line {
	return scheduler.Line{Claim: claimOf(job), Instance: 1, Attempt: 1, MaxAttempts: 1, Assigned: true}
}

// A child that dies takes the credits with it that were given out for it: under a
// new epoch the host asks for no more than what there is room for now. What the
// child had in hand is settled as a death.
func TestHost_GivesBackCreditsWhenAChildDies(t *testing.T) {
	t.Parallel()
	l := &launcher{}
	playHost(t, l, func(s *stage) {
		first, now, room := offered(after[*message.Credits](s, 0, message.RoleDispatcher))
		if now != 0 || room != 2 {
			t.Fatalf("an empty host asks for %d and %d", now, room)
		}
		s.Tell(message.RoleHost("h"), message.Deals{{Epoch: first, Type: "a", Lines: []scheduler.Line{lineOf(1)}}})
		after[*message.Credits](s, 2*time.Second, message.RoleDispatcher)
		l.processes[0].dies()
		epoch, now, room := offered(after[*message.Credits](s, time.Minute, message.RoleDispatcher))
		if epoch <= first || now != 0 || room != 2 {
			t.Errorf("after its death it asks for %d and %d, under epoch %d after %d", now, room, epoch, first)
		}
		batch, _, _ := s.outbox.Take(time.Now())
		i := slices.IndexFunc(batch.Records, func(r scheduler.Record) bool { return r.Kind == scheduler.RecordSettle })
		if i < 0 || !batch.Records[i].Verdict.Death {
			t.Errorf("owed: %+v", batch.Records)
		}
		if s.alive.Load() != 0 {
			t.Errorf("%d processes are counted", s.alive.Load())
		}
	})
}

// Work that was dealt goes back to the queue when no child comes up for it.
func TestHost_GivesBackWorkThatNoChildTakes(t *testing.T) {
	t.Parallel()
	playHost(t, &launcher{refuse: errors.New("no such program")}, func(s *stage) {
		epoch, _, _ := offered(after[*message.Credits](s, 0, message.RoleDispatcher))
		s.Tell(message.RoleHost("h"), message.Deals{{Epoch: epoch, Type: "a", Lines: []scheduler.Line{lineOf(1)}}})
		after[*message.Credits](s, time.Minute, message.RoleDispatcher)
		batch, _, _ := s.outbox.Take(time.Now())
		if n := len(batch.Records); n != 1 || batch.Records[0].Kind != scheduler.RecordRequeue {
			t.Errorf("owed: %+v", batch.Records)
		}
		if got := after[*message.Trouble](s, 0, message.RoleMembership); len(got) == 0 ||
			got[len(got)-1].Why == (scheduler.Account{}) {
			t.Errorf("told of trouble: %+v", got)
		}
	})
}

// Work whose lease is over when it arrives begins nowhere.
func TestHost_BeginsNothingAfterTheLease(t *testing.T) {
	t.Parallel()
	l := &launcher{}
	playHost(t, l, func(s *stage) {
		epoch, _, _ := offered(after[*message.Credits](s, 0, message.RoleDispatcher))
		s.SetLease(time.Now())
		s.Tell(message.RoleHost("h"), message.Deals{{Epoch: epoch, Type: "a", Lines: []scheduler.Line{lineOf(1)}}})
		after[*message.Credits](s, time.Minute, message.RoleDispatcher)
		if len(l.processes) > 0 {
			t.Errorf("%d processes were started", len(l.processes))
		}
		if owing := s.outbox.Owing(); !owing[claimOf(1)] {
			t.Errorf("owed: %v", owing)
		}
	})
}

// A host's actor gives out no credits before the processes of the last one are dead.
func TestHost_WaitsForTheProcessesOfTheLastOne(t *testing.T) {
	t.Parallel()
	l := &launcher{}
	playHost(t, l, func(s *stage) {
		after[*message.HostRestarted](s, 0, message.RoleMSQs) // the first one
		after[*message.Credits](s, 0, message.RoleDispatcher)
		s.processes["h"].Enter()
		s.start(message.RoleHost("h"), host.New(s.forHosts(), s.Hosts[0]))
		if got := after[*message.Credits](s, time.Minute, message.RoleDispatcher); len(got) > 0 {
			t.Errorf("credits while a process lives: %+v", got[0])
		}
		s.processes["h"].Leave()
		if _, _, room := offered(after[*message.Credits](s, 0, message.RoleDispatcher)); room != 2 {
			t.Errorf("room for %d", room)
		}
		if got := after[*message.HostRestarted](s, 0, message.RoleMSQs); len(got) != 1 ||
			!got[0].At.Equal(s.PID(message.RoleHost("h"))) {
			t.Errorf("MSQ jobs are told %+v", got)
		}
	})
}

// What a child has said before its actor died is heard first: an item that its
// process was fed stays in that one's hands until it is dead, and goes back once.
func TestHost_HearsWhatAChildSaidBeforeItDied(t *testing.T) {
	t.Parallel()
	l := &launcher{}
	playHost(t, l, func(s *stage) {
		s.listen(message.RoleMSQ(7))
		epoch, _, _ := offered(after[*message.Credits](s, 0, message.RoleDispatcher))
		s.Tell(message.RoleHost("h"), message.Deals{{Epoch: epoch, Type: "a", Lines: []scheduler.Line{lineOf(1)}}})
		after[*message.Credits](s, 2*time.Second, message.RoleDispatcher)
		p := l.processes[0]
		p.does()
		after[*message.Credits](s, 0, message.RoleDispatcher)
		// before its host hears that it was
		p.fed = func() { s.Send(s.PID(message.RoleChild("h", "a.1")), &message.PanicNow{}) }
		item := lineOf(7)
		item.Item, item.Assigned = 1, false
		s.Tell(message.RoleHost("h"), message.Deals{{Epoch: epoch, Type: "a", Lines: []scheduler.Line{item}}})
		if got := after[*message.Returned](s, time.Minute, message.RoleMSQ(7)); len(got) > 0 {
			t.Errorf("it went back while its process lived: %+v", got[0])
		}
		if got := after[*message.Answered](s, 0, message.RoleMSQ(7)); len(got) != 1 {
			t.Errorf("it ended %d times", len(got))
		}
	})
}

// What a child gave back and another one did since, nobody holds: who waits for
// that would wait for ever.
func TestHost_ReportsWhatWasGivenBackOnlyWhereItIs(t *testing.T) {
	t.Parallel()
	playExec(t, 4*time.Millisecond, []scheduler.TypeName{"a"}, func(o *standing, l *launcher) {
		o.s.listen(message.RoleMSQ(7))
		items := []scheduler.Line{lineOf(7), lineOf(7), lineOf(7)}
		for i := range items {
			items[i].Item, items[i].Assigned = int64(i+1), false
		}
		o.s.Tell(message.RoleHost("h"), message.Deals{{Epoch: o.epoch, Type: "a", Lines: items}})
		o.hear(0)
		deep, other := l.processes[0], l.processes[1] // the one that has two
		if other.has() > deep.has() {
			deep, other = other, deep
		}
		if deep.has() != 2 || other.has() != 1 {
			t.Fatalf("the children have %d and %d lines", deep.has(), other.has())
		}
		deep.dies() // what was behind goes to the other
		o.hear(0)
		for range 2 {
			other.does()
			o.hear(0)
		}
		for range 2 { // one after the other: a report changes nothing
			o.s.Tell(message.RoleHost("h"), &message.Report{To: o.s.PID(message.RoleMSQs)})
			for _, r := range after[*message.Reported](o.s, 0, message.RoleMSQs) {
				if len(r.Items) > 0 {
					t.Errorf("%s holds %v", r.From, r.Items)
				}
			}
		}
	})
}

// Short waits add up: lines that come two at a time, the second behind the first, bring up another child by and by,
// though the one that is up is idle after each two. One at a time never does.
func TestHost_GetsAnotherChildWhereLinesWaitAgainAndAgain(t *testing.T) {
	t.Parallel()
	for together, want := range map[int]int{1: 1, 2: 2} {
		l := &launcher{}
		playHost(t, l, func(s *stage) {
			o := &standing{s: s}
			o.hear(0)
			o.deal("a", true, 1)
			o.hear(time.Second) // it comes up
			const takes = 2 * time.Millisecond
			o.hear(takes)
			l.processes[0].does()
			began := time.Now()
			for job := scheduler.JobID(2); time.Since(began) < 2*time.Second; job += 2 {
				jobs := []scheduler.JobID{job, job + 1}[:together]
				o.hear(4 * takes) // it is idle
				o.deal("a", false, jobs...)
				for range jobs {
					o.hear(takes)
					if p := l.processes[0]; p.has() > 0 {
						p.does()
					}
				}
			}
			o.hear(time.Second)
			if n := len(l.processes); n != want {
				t.Errorf("%d at a time: %d children, want %d", together, n, want)
			}
		})
	}
}
