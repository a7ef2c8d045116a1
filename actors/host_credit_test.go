package actors

import (
	"testing"
	"time"

	"bellhop/actors/host"
	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// standing is what a host has asked for, and has not been dealt.
type standing struct {
	s     *stage
	epoch uint64
	now   map[scheduler.TypeName]int
	spawn map[scheduler.TypeName]int
	room  int
}

func (o *standing) hear(wait time.Duration) {
	for _, m := range after[*message.Credits](o.s, wait, message.RoleDispatcher) {
		if m.Epoch != o.epoch {
			o.epoch, o.now, o.room = m.Epoch, map[scheduler.TypeName]int{}, 0
		}
		for t, n := range m.Now {
			o.now[t] += n
		}
		o.room += m.Room
		if m.Spawn != nil {
			o.spawn = m.Spawn
		}
	}
}

// deal spends credits: of children that are up, or of such as come up.
func (o *standing) deal(t scheduler.TypeName, comeUp bool, jobs ...scheduler.JobID) {
	lines := make([]scheduler.Line, len(jobs))
	for i, job := range jobs {
		if lines[i] = lineOf(job); comeUp {
			o.room--
			o.spawn[t]--
		} else {
			lines[i].Assigned = false
			o.now[t]--
		}
	}
	o.s.Tell(message.RoleHost("h"), message.Deals{{Epoch: o.epoch, Type: t, Lines: lines}})
}

// playExec plays a host of two slots whose types start a process for each line,
// with a child of the first type in each slot. They have done a line that took
// each of them so long.
func playExec(t *testing.T, took time.Duration, types []scheduler.TypeName, with func(o *standing, l *launcher)) {
	t.Helper()
	l := &launcher{}
	cfg := Config{Launcher: l, Retry: scheduler.DefaultRetry, Hosts: []port.HostSpec{{Name: "h", Slots: 2}},
		Idle:      time.Hour,
		KillAfter: time.Second, MinReady: time.Second, Respawn: scheduler.RespawnPolicy{Deaths: 5, Window: 3 * time.Second}}
	for _, name := range types {
		cfg.Agents = append(cfg.Agents, port.AgentType{Name: name, Exec: true, StartTimeout: time.Minute})
	}
	play(t, cfg, func(s *stage) {
		s.listen(message.RoleDispatcher, message.RoleMembership, message.RoleMSQs, message.RoleHosts)
		s.start(message.RoleHost("h"), host.New(s.forHosts(), s.Hosts[0]))
		o := &standing{s: s}
		o.hear(0)
		o.deal(types[0], true, 1, 2)
		o.hear(time.Second) // they come up
		if len(l.processes) != 2 {
			t.Fatalf("%d children came up", len(l.processes))
		}
		o.hear(took)
		for _, p := range l.processes {
			p.does()
		}
		o.hear(0)
		with(o, l)
	})
}

// wantedBack is how often it was asked for the lines behind the one in hand.
func (p *idleProcess) wantedBack() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.recalls
}

// does answers the line in hand.
func (p *idleProcess) does() {
	p.mu.Lock()
	line := p.lines[0]
	p.lines = p.lines[1:]
	p.mu.Unlock()
	p.happens(scheduler.ChildEvent{Kind: scheduler.EventAnswered, Claim: line.Claim, Item: line.Item,
		OK: true, At: time.Now()})
}

// A child with nothing to do is asked for once: it need not go to make room for
// another one of its own type.
func TestHost_OffersAnIdleChildOfModeExecOnce(t *testing.T) {
	t.Parallel()
	playExec(t, time.Second, []scheduler.TypeName{"a"}, func(o *standing, _ *launcher) {
		if o.now["a"] != 2 || min(o.room, o.spawn["a"]) != 0 {
			t.Errorf("two idle children: it asks for %d, and room for %d", o.now["a"], min(o.room, o.spawn["a"]))
		}
	})
}

// Beside other types its slot is anybody's.
func TestHost_OffersTheSlotOfModeExecToAnyType(t *testing.T) {
	t.Parallel()
	playExec(t, time.Second, []scheduler.TypeName{"a", "b"}, func(o *standing, _ *launcher) {
		if o.now["a"] != 0 || o.room != 2 || o.spawn["a"] < 2 || o.spawn["b"] < 2 {
			t.Errorf("it asks for %v, room for %d of %v", o.now, o.room, o.spawn)
		}
	})
}

// What is quick is asked for behind the line in hand, too, by half of the
// children at a time; when there is none in hand, the slot is anybody's again.
func TestHost_AsksForLinesBehindThoseInHand(t *testing.T) {
	t.Parallel()
	for _, types := range [][]scheduler.TypeName{{"a"}, {"a", "b"}} {
		playExec(t, 4*time.Millisecond, types, func(o *standing, l *launcher) {
			shared := len(types) > 1
			o.deal("a", shared, 3, 4)
			o.hear(0)
			if o.now["a"] < 2 {
				t.Errorf("%v: behind two lines of 4 ms it asks for %d", types, o.now["a"])
			}
			l.processes[0].does()
			o.hear(0)
			if shared && (o.now["a"] != 1 || o.room != 1 || o.spawn["b"] < 1) {
				t.Errorf("%v: one is idle, and it asks for %v, room for %d of %v", types, o.now, o.room, o.spawn)
			}
		})
	}
}

// A child that was not woken yet for what its process has said is not taken for
// slow: its lines stay. Those of one that has said nothing go to others.
func TestChild_HearsItsProcessBeforeItIsTakenForSlow(t *testing.T) {
	t.Parallel()
	playExec(t, time.Millisecond, []scheduler.TypeName{"a"}, func(o *standing, l *launcher) {
		o.deal("a", false, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
		o.hear(0)
		quick, slow := l.processes[0], l.processes[1]
		if quick.has() != 5 || slow.has() != 5 {
			t.Fatalf("they have %d and %d lines", quick.has(), slow.has())
		}
		o.hear(9 * time.Millisecond)
		quick.mu.Lock()
		for range 4 {
			quick.events = append(quick.events, scheduler.ChildEvent{Kind: scheduler.EventAnswered,
				Claim: quick.lines[0].Claim, OK: true, At: time.Now()})
			quick.lines = quick.lines[1:]
		}
		quick.mu.Unlock()
		o.hear(time.Millisecond)
		if quick, slow := quick.wantedBack(), slow.wantedBack(); quick != 0 || slow != 1 {
			t.Errorf("lines were wanted back from the quick one %d times, from the slow one %d times", quick, slow)
		}
	})
}

// A host offers to start no more children than what it has besides slots allows: one of either type, and none while a
// child holds it. What an exec child without a job holds is for any type.
func TestHost_OffersNoMoreThanItsResources(t *testing.T) {
	t.Parallel()
	l := &launcher{}
	gpu := scheduler.Resources{"gpu": 1}
	cfg := Config{Launcher: l, Retry: scheduler.DefaultRetry, Idle: time.Hour, KillAfter: time.Second,
		MinReady: time.Second, Hosts: []port.HostSpec{{Name: "h", Slots: 4, Terms: scheduler.Terms{Has: gpu}}},
		Respawn: scheduler.RespawnPolicy{Deaths: 5, Window: 3 * time.Second}}
	for _, name := range []scheduler.TypeName{"a", "b", "plain"} {
		typ := port.AgentType{Name: name, Exec: true, StartTimeout: time.Minute}
		if name != "plain" {
			typ.Takes.Of = gpu
		}
		cfg.Agents = append(cfg.Agents, typ)
	}
	play(t, cfg, func(s *stage) {
		s.listen(message.RoleDispatcher, message.RoleMembership, message.RoleMSQs, message.RoleHosts)
		s.start(message.RoleHost("h"), host.New(s.forHosts(), s.Hosts[0]))
		o := &standing{s: s}
		o.hear(0)
		if o.spawn["a"] != 1 || o.spawn["b"] != 1 || o.spawn["plain"] < 4 {
			t.Errorf("at first: %v", o.spawn)
		}
		o.deal("a", true, 1)
		o.hear(time.Second)
		if len(l.processes) != 1 || o.spawn["a"] != 0 || o.spawn["b"] != 0 || o.spawn["plain"] < 4 {
			t.Errorf("while a child holds it: %v, with %d processes", o.spawn, len(l.processes))
		}
		l.processes[0].does()
		o.hear(0)
		if o.spawn["a"] != 1 || o.spawn["b"] != 1 {
			t.Errorf("when its job is done: %v", o.spawn)
		}
	})
}
