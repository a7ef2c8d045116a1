package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/actors/message"
	"bellhop/actors/msq"
	"bellhop/actors/port"
	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// rowsWith is a query whose rows say which locks they need; empty: none.
type rowsWith struct{ list []string }

func (r *rowsWith) Open(context.Context, string) (port.Rows, error) { return &rowsWith{r.list}, nil }
func (r *rowsWith) Close()                                          {}
func (r *rowsWith) Next(context.Context) (rows [][]scheduler.Column, err error) {
	changed()
	for i, locks := range r.list {
		row := []scheduler.Column{{Name: "n", Value: fmt.Sprint(i + 1)}}
		if locks != "" {
			row = append(row, scheduler.Column{Name: scheduler.LocksColumn, Value: locks})
		}
		rows = append(rows, row)
	}
	r.list = nil
	return rows, nil
}

// itemDesk is the database: what job 5 has of it, beside what others hold.
type itemDesk struct {
	mu    sync.Mutex
	held  []lock.Grant
	waits []lock.Awaiting
	asked []lock.ItemsAsk
	fails error
	slow  time.Duration
}

func (d *itemDesk) ReadLocks(texts []string) (lock.Set, error) { return lock.AnyLevel.Read(texts) }

func (d *itemDesk) OwnLocks(context.Context, scheduler.InstanceID, scheduler.Claim) (lock.Set, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return lock.HeldBy(5, d.held), nil
}

func (d *itemDesk) AskForItems(_ context.Context, _ scheduler.InstanceID, _ scheduler.Claim, ask lock.ItemsAsk) (
	lock.ItemsAnswer, error,
) {
	time.Sleep(d.slow) // virtual
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, ask)
	if d.fails != nil {
		return lock.ItemsAnswer{}, d.fails
	}
	a := lock.AnyLevel.AnswerItems(ask, d.held, d.waits)
	d.held = slices.DeleteFunc(d.held, func(g lock.Grant) bool { return g.Job == 5 })
	d.held = append(d.held, lock.Rows(5, ask.Own.Merge(a.Has))...)
	if !ask.InLine {
		d.waits = slices.DeleteFunc(d.waits, func(w lock.Awaiting) bool { return w.Job == 5 })
		for _, g := range lock.Rows(5, a.Waits) {
			d.waits = append(d.waits, lock.Awaiting{Grant: g, Since: time.Now(), Items: true})
		}
	}
	return a, nil
}

// change is what other jobs do.
func (d *itemDesk) change(held, waits string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = slices.DeleteFunc(d.held, func(g lock.Grant) bool { return g.Job == 2 })
	d.waits = slices.DeleteFunc(d.waits, func(w lock.Awaiting) bool { return w.Job == 2 })
	read := func(text string) []lock.Grant {
		set, _ := lock.AnyLevel.Read(strings.Fields(text))
		return lock.Rows(2, set)
	}
	d.held = append(d.held, read(held)...)
	for _, g := range read(waits) {
		d.waits = append(d.waits, lock.Awaiting{Grant: g, Since: time.Now()})
	}
}

// has is what is in the database of job 5: what it holds, and what it waits for.
func (d *itemDesk) has() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := lock.HeldBy(5, d.held).Text()
	for _, w := range d.waits {
		if w.Job == 5 {
			text = append(text, "waits for "+w.Level+":"+w.Name)
		}
	}
	return strings.Join(text, " ")
}

func (d *itemDesk) requests() (list []lock.ItemsAsk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list, d.asked = d.asked, nil
	return list
}

// playItems runs job 5 with such rows on a stage; locked: it has locks of its own.
func playItems(t *testing.T, d *itemDesk, locked bool, rows []string, with func(s *itemStage)) {
	t.Helper()
	cfg := Config{Queries: &rowsWith{rows}, Maintenance: &chores{}, Retry: scheduler.DefaultRetry}
	if d != nil {
		cfg.ItemLocks = d
	}
	play(t, cfg, func(s *stage) {
		s.listen(message.RoleDispatcher, message.RoleHosts, message.RoleMSQs, message.RoleHost("h"))
		job := scheduler.Job{Type: "a", MSQ: "select",
			Line: scheduler.Line{Claim: claimOf(5), Instance: 1, Attempt: 1, MaxAttempts: 1, Locked: locked}}
		s.start(message.RoleMSQ(5), msq.New(s.forMSQ(), job))
		with(&itemStage{s, map[int64]scheduler.Line{}, 0})
	})
}

type itemStage struct {
	*stage
	lines   map[int64]scheduler.Line // that were dealt
	waiting int
}

// wants is how many items the dispatcher knows to want a slot, after a while.
func (s *itemStage) wants(wait time.Duration) int {
	s.Helper()
	for _, m := range after[*message.MSQWaiting](s.stage, wait, message.RoleDispatcher) {
		s.waiting = m.Waiting
	}
	return s.waiting
}

// slots grants some, and gives the items that were dealt, and how many slots came back.
func (s *itemStage) slots(n int) (items []int64, back int) {
	s.Helper()
	s.Tell(message.RoleMSQ(5), &message.Grant{Host: "h", Epoch: 9, Now: n})
	items = s.dealt(10 * time.Millisecond)
	for _, m := range after[*message.Refund](s.stage, 0, message.RoleDispatcher) {
		back += m.Now + m.Spawn
	}
	return items, back
}

func (s *itemStage) dealt(wait time.Duration) (items []int64) {
	s.Helper()
	for _, m := range after[*message.Deal](s.stage, wait, message.RoleHost("h")) {
		for _, l := range m.Lines {
			items = append(items, l.Item)
			s.lines[l.Item] = l
		}
	}
	return items
}

func (s *itemStage) ends(outcome scheduler.Outcome, items ...int64) {
	s.Helper()
	m := &message.Answered{}
	for _, item := range items {
		line := s.lines[item]
		m.Results = append(m.Results, scheduler.Result{Line: &line, Outcome: outcome})
	}
	s.Tell(message.RoleMSQ(5), m)
}

func (s *itemStage) are(what string, got []int64, want ...int64) {
	s.Helper()
	if !slices.Equal(got, want) {
		s.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Rows that want the same lock run one at a time, others beside them; the lock is
// held while one of them runs, and the agent is told nothing of it.
func TestMSQLocks_OneAtATimeBesideOthers(t *testing.T) {
	t.Parallel()
	d := &itemDesk{}
	playItems(t, d, false, []string{"c:1=exclusive", "c:1=exclusive", "{c:2=exclusive}", ""}, func(s *itemStage) {
		if n := s.wants(0); n != 3 {
			t.Fatalf("%d want a slot, want 3", n)
		}
		got, back := s.slots(4)
		slices.Sort(got)
		s.are("first", got, 1, 3, 4)
		if back != 1 || d.has() != "c:1=exclusive c:2=exclusive" || s.lines[1].Args != `n="1"` {
			t.Errorf("%d slots came back, it has %s, the line is %s", back, d.has(), s.lines[1].Args)
		}
		if got := after[*message.LockedNow](s.stage, 0, message.RoleDispatcher); len(got) != 1 {
			t.Errorf("the dispatcher was told %d times that it holds locks", len(got))
		}
		d.requests()
		s.ends(scheduler.OutcomeSucceeded, 1)
		if n := s.wants(0); n != 1 {
			t.Errorf("%d want a slot, want 1", n)
		}
		got, _ = s.slots(1)
		s.are("then", got, 2)
		if asked := d.requests(); len(asked) > 0 {
			t.Errorf("what it has was asked for again: %+v", asked)
		}
		s.ends(scheduler.OutcomeSucceeded, 3)
		if s.wants(time.Second); d.has() != "c:1=exclusive" {
			t.Errorf("it has %s", d.has())
		}
		s.ends(scheduler.OutcomeSucceeded, 2, 4)
		if got := after[*msq.Done](s.stage, 0, message.RoleMSQs); len(got) != 1 {
			t.Errorf("it is over %d times", len(got))
		}
		if got := owed(s.stage); !slices.Equal(got, []string{"succeeded"}) {
			t.Errorf("owed: %q", got)
		}
	})
}

// What another job holds is waited for without a slot, by one request each second
// and when locks ring; the job says who holds it.
func TestMSQLocks_WaitsForOthersWithoutASlot(t *testing.T) {
	t.Parallel()
	d := &itemDesk{}
	d.change("c:1=shared", "")
	rows := slices.Repeat([]string{"c:1=exclusive", "c:1=shared"}, 400)
	playItems(t, d, false, rows, func(s *itemStage) {
		s.wants(0)
		got, back := s.slots(3)
		s.are("dealt", got)
		if n := s.wants(0); n != 0 || back != 3 || d.has() != "waits for c:1" {
			t.Fatalf("%d want a slot, %d came back, it has %s", n, back, d.has())
		}
		d.requests()
		for range 3 {
			if n := s.wants(time.Second); n != 1 {
				t.Fatalf("%d want a slot a second later, want 1", n)
			}
			if got, back := s.slots(3); len(got) > 0 || back != 3 || len(d.requests()) != 1 {
				t.Fatalf("dealt %v, %d slots came back", got, back)
			}
		}
		s.wants(100 * time.Millisecond)
		var told string
		for b, _, _ := s.outbox.Take(time.Now()); len(b.Progress) > 0; b.Progress = nil {
			told = b.Progress[0].Waits
		}
		if want := "lock_held: 800 of its items wait, the first for c:1=exclusive, and job 2 has c:1=shared"; told != want {
			t.Errorf("it says %q, want %q", told, want)
		}
		d.change("", "")
		s.Tell(message.RoleMSQ(5), &message.TryLocks{})
		if n := s.wants(0); n != 1 {
			t.Fatalf("%d want a slot when it rings, want 1", n)
		}
		got, _ = s.slots(3)
		s.are("when it is free", got, 1)
		if d.has() != "c:1=exclusive" {
			t.Errorf("it has %s", d.has())
		}
	})
}

// It holds a slot while it asks, and not longer: that is a moment.
func TestMSQLocks_OneRequestForAll(t *testing.T) {
	t.Parallel()
	d := &itemDesk{slow: 5 * time.Millisecond}
	var rows []string
	for i := range 100 {
		rows = append(rows, fmt.Sprintf("c:%d=exclusive", i))
	}
	d.change("c:0=shared c:7=shared", "")
	playItems(t, d, false, rows, func(s *itemStage) {
		s.wants(0)
		got, back := s.slots(8)
		s.are("dealt", got, 2, 3, 4, 5, 6, 7, 9, 10)
		if asked := d.requests(); len(asked) != 1 || back != 0 {
			t.Errorf("%d requests, %d slots came back", len(asked), back)
		}
		s.ends(scheduler.OutcomeSucceeded, 2, 3, 4, 5, 6, 7, 9, 10)
		if n := s.wants(0); n != 90 {
			t.Errorf("%d want a slot, want 90", n)
		}
		got, _ = s.slots(8)
		s.are("then", got, 11, 12, 13, 14, 15, 16, 17, 18)
		if asked := d.requests(); len(asked) != 1 {
			t.Errorf("giving back and taking are %d requests", len(asked))
		}
	})
}

// Who waits for what its items have is let go first, within a second; then the items
// go on.
func TestMSQLocks_LetsOthersGoFirst(t *testing.T) {
	t.Parallel()
	d := &itemDesk{}
	playItems(t, d, false, slices.Repeat([]string{"c:1=exclusive"}, 100), func(s *itemStage) {
		s.wants(0)
		item, _ := s.slots(1)
		run := func(d time.Duration) {
			for range d / (100 * time.Millisecond) {
				time.Sleep(90 * time.Millisecond) // virtual
				s.ends(scheduler.OutcomeSucceeded, item...)
				if s.wants(0) > 0 {
					item, _ = s.slots(1)
				} else {
					item = nil
				}
			}
		}
		run(3 * time.Second)
		if d.has() != "c:1=exclusive" {
			t.Fatalf("while nobody waits for it, it has %q", d.has())
		}
		d.change("", "c:1=shared")
		run(1500 * time.Millisecond)
		if strings.Contains(d.has(), "exclusive") || len(item) > 0 {
			t.Fatalf("while another waits for it, it has %q, and runs %v", d.has(), item)
		}
		d.change("c:1=shared", "")
		run(2 * time.Second)
		if d.has() != "waits for c:1" {
			t.Fatalf("then it has %q", d.has())
		}
		d.change("", "")
		run(1100 * time.Millisecond)
		if d.has() != "c:1=exclusive" {
			t.Fatalf("and at last it has %q", d.has())
		}
	})
}

// Nobody is kept from a lock for an item that gets no slot.
func TestMSQLocks_WithoutSlotsItStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	d := &itemDesk{}
	d.change("c:1=shared", "")
	playItems(t, d, false, []string{"c:1=exclusive"}, func(s *itemStage) {
		s.wants(0)
		s.slots(1)
		if d.has() != "waits for c:1" {
			t.Fatalf("it has %q", d.has())
		}
		if s.wants(3 * time.Second); d.has() != "" {
			t.Errorf("without a slot it has %q", d.has())
		}
		d.requests()
		if s.wants(time.Minute); len(d.requests()) > 0 {
			t.Error("it asks without having a slot")
		}
	})
}

// An item that failed keeps its place before those that need the same.
func TestMSQLocks_TriedAgainBeforeTheNext(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"failed", "given back"} {
		playItems(t, &itemDesk{}, false, []string{"c:1=exclusive", "c:1=exclusive"}, func(s *itemStage) {
			s.wants(0)
			got, _ := s.slots(2)
			s.are("first", got, 1)
			if how == "failed" {
				s.ends(scheduler.OutcomeFailed, 1)
			} else {
				s.Tell(message.RoleMSQ(5), &message.Returned{Lines: []scheduler.Line{s.lines[1]}})
			}
			s.wants(0)
			got, _ = s.slots(2)
			s.are(how, got, 1)
		})
	}
}

// Locks that cannot be read fail their item, and no other.
func TestMSQLocks_Malformed(t *testing.T) {
	t.Parallel()
	playItems(t, &itemDesk{}, false, []string{"c:1", "c:1=exclusive", "{{a}}", "filter:x=shared"}, func(s *itemStage) {
		s.wants(0)
		batch, _, _ := s.outbox.Take(time.Now())
		var told []string
		for _, f := range batch.Failed {
			told = append(told, fmt.Sprint(f.Item, " ", f.Error))
		}
		want := []string{`1 locks_malformed: lock "c:1", character 4: there is no = with a mode after the name; ` +
			`write c:1=exclusive, or c:1=shared`,
			`3 locks_malformed: the column locks holds "{{a}}", which is not a list of texts; make it text[], or text for one lock`,
			`4 locks_malformed: level filter is bellhop's own; name it otherwise`}
		if !slices.Equal(told, want) {
			t.Errorf("failed: %q", told)
		}
		got, _ := s.slots(4)
		s.are("dealt", got, 2)
	})
}

// What the job itself was claimed with stays, whatever its items need of it.
func TestMSQLocks_BesideTheJobsOwn(t *testing.T) {
	t.Parallel()
	d := &itemDesk{held: lock.Rows(5, must(lock.AnyLevel.Read([]string{"c:1=shared", "d:9=exclusive"})))}
	playItems(t, d, true, []string{"c:1=exclusive", "c:2=shared", "d:9=exclusive"}, func(s *itemStage) {
		s.wants(0)
		got, _ := s.slots(3)
		s.are("dealt", got, 1, 2, 3)
		if d.has() != "c:1=exclusive c:2=shared d:9=exclusive" {
			t.Errorf("it has %s", d.has())
		}
		s.ends(scheduler.OutcomeSucceeded, 1, 3)
		if s.wants(time.Second); d.has() != "c:1=shared c:2=shared d:9=exclusive" {
			t.Errorf("then it has %s", d.has())
		}
	})
}

// While nobody can be asked, no item with locks begins, and slots come back; then
// all is as it was.
func TestMSQLocks_TheDatabaseAway(t *testing.T) {
	t.Parallel()
	d := &itemDesk{fails: errors.New("away")}
	playItems(t, d, false, []string{"c:1=exclusive", "c:2=exclusive", "c:3=exclusive"}, func(s *itemStage) {
		s.wants(0)
		got, back := s.slots(2)
		s.are("dealt", got)
		if n := s.wants(0); n != 0 || back != 2 || len(d.requests()) != 1 {
			t.Fatalf("%d want a slot, %d came back", n, back)
		}
		s.Tell(message.RoleMSQ(5), &message.TryLocks{})
		if n := s.wants(500 * time.Millisecond); n != 0 {
			t.Errorf("%d want a slot before a second is over", n)
		}
		d.mu.Lock()
		d.fails = nil
		d.mu.Unlock()
		if n := s.wants(time.Second); n != 3 {
			t.Errorf("%d want a slot, want 3", n)
		}
		got, _ = s.slots(3)
		s.are("then", got, 1, 2, 3)
	})
}

// Slots that it keeps while it asks are not lost: not at its end, and not with their host.
func TestMSQLocks_SlotsComeBack(t *testing.T) {
	t.Parallel()
	for what, happens := range map[string]func(s *itemStage) int{
		"cancelled": func(s *itemStage) int {
			s.Tell(message.RoleMSQ(5), &message.CancelJob{Claim: claimOf(5), Now: false})
			return 2
		},
		"host restarted": func(s *itemStage) int {
			s.Tell(message.RoleMSQ(5), &message.HostRestarted{Host: "h", At: s.PID(message.RoleDispatcher)})
			return 0 // they went with it
		},
	} {
		d := &itemDesk{slow: time.Second}
		playItems(t, d, false, []string{"c:1=exclusive", "c:2=exclusive"}, func(s *itemStage) {
			s.wants(0)
			s.Tell(message.RoleMSQ(5), &message.Grant{Host: "h", Epoch: 9, Now: 2})
			s.wants(10 * time.Millisecond)
			want, back := happens(s), 0
			s.are(what, s.dealt(3*time.Second))
			for _, m := range after[*message.Refund](s.stage, 0, message.RoleDispatcher) {
				back += m.Now
			}
			if back != want || what != "cancelled" && d.has() != "" {
				t.Errorf("%s: %d slots came back, want %d; it has %q", what, back, want, d.has())
			}
		})
	}
}

// Where there is no database there are no other jobs with locks.
func TestMSQLocks_WithoutADatabase(t *testing.T) {
	t.Parallel()
	playItems(t, nil, false, []string{"c:1=exclusive", "c:1=exclusive", "c:2=shared"}, func(s *itemStage) {
		s.wants(0)
		got, _ := s.slots(3)
		s.are("dealt", got, 1, 3)
		s.ends(scheduler.OutcomeSucceeded, 1, 3)
		s.wants(0)
		got, _ = s.slots(3)
		s.are("then", got, 2)
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// An item that would wait for ever, since its job keeps what the other waits for,
// fails; others go on.
func TestMSQLocks_ACircle(t *testing.T) {
	t.Parallel()
	d := &itemDesk{held: lock.Rows(5, must(lock.AnyLevel.Read([]string{"d:9=exclusive"})))}
	d.change("c:1=shared", "d:9=shared")
	playItems(t, d, true, []string{"c:1=exclusive", "c:2=shared"}, func(s *itemStage) {
		s.wants(0)
		got, _ := s.slots(2)
		s.are("dealt", got, 2)
		batch, _, _ := s.outbox.Take(time.Now())
		want := "deadlock: job 5 waits for c:1=exclusive, and job 2 has c:1=shared; " +
			"job 2 waits for d:9=shared, and job 5 has d:9=exclusive"
		if len(batch.Failed) != 1 || batch.Failed[0].Item != 1 || batch.Failed[0].Error != want {
			t.Errorf("failed: %+v", batch.Failed)
		}
		s.ends(scheduler.OutcomeSucceeded, 2)
		if got := after[*msq.Done](s.stage, 0, message.RoleMSQs); len(got) != 1 {
			t.Errorf("it is over %d times", len(got))
		}
	})
}
