package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/ledger"
	"bellhop/actors/message"
	"bellhop/scheduler"
)

// records is a database that the ledger writes to.
type records struct {
	calls
	locked map[scheduler.JobID]bool // rows that another transaction has locked
	bad    map[scheduler.JobID]bool // outcomes that it refuses
	down   error
	takes  time.Duration // a write, besides
	frees  bool          // others waited for what ends
	again  []bool        // of each batch, whether it may have been committed before
}

func (r *records) Write(_ context.Context, _ scheduler.InstanceID, b scheduler.Batch, _ time.Time) (
	[]scheduler.Claim, bool, error) {
	r.add(fmt.Sprint("write", b.Jobs()))
	r.again = append(r.again, b.MaybeCommitted)
	time.Sleep(r.takes) // virtual
	if r.down != nil {
		return nil, false, r.down
	}
	for _, job := range b.Jobs() {
		switch {
		case r.locked[job]:
			return nil, false, scheduler.ErrBusy
		case r.bad[job]:
			return nil, false, scheduler.ErrRefused
		}
	}
	return nil, r.frees, nil
}

func (r *records) Busy(_ context.Context, jobs []scheduler.JobID) (busy []scheduler.JobID, err error) {
	r.add(fmt.Sprint("busy?", jobs))
	return slices.DeleteFunc(slices.Clone(jobs), func(job scheduler.JobID) bool { return !r.locked[job] }), nil
}

func settledJobs(list []*message.Settled) (jobs []scheduler.JobID) {
	for _, m := range list {
		for _, c := range m.Claims {
			jobs = append(jobs, c.Job)
		}
	}
	slices.Sort(jobs)
	return jobs
}

func playLedger(t *testing.T, db *records, with func(*stage)) {
	t.Helper()
	play(t, Config{Records: db}, func(s *stage) {
		s.listen(message.RoleDispatcher, message.RoleMaintenance)
		s.start(message.RoleLedger, ledger.New(s.forLedger()))
		with(s)
	})
}

// A row that another transaction has locked is tried again, later each time; the
// others of its batch are written at once.
func TestLedger_DefersLockedRowsAndRetries(t *testing.T) {
	t.Parallel()
	db := &records{locked: map[scheduler.JobID]bool{2: true}}
	playLedger(t, db, func(s *stage) {
		start := time.Now()
		s.outbox.Owe(settleOf(1, 2, 3)...)
		if got := settledJobs(after[*message.Settled](s, 0, message.RoleDispatcher)); !slices.Equal(got,
			[]scheduler.JobID{1, 3}) {
			t.Fatalf("settled at once: %v", got)
		}
		db.take(start)
		if got := after[*message.Settled](s, 300*time.Millisecond, message.RoleDispatcher); len(got) > 0 {
			t.Fatalf("settled while its row is locked: %v", settledJobs(got))
		}
		if names, at := db.take(start); !slices.Equal(names, []string{"busy?[2]", "busy?[2]"}) ||
			!slices.Equal(at, []time.Duration{100 * time.Millisecond, 300 * time.Millisecond}) {
			t.Fatalf("tried: %q at %v", names, at)
		}
		delete(db.locked, 2)
		if got := settledJobs(after[*message.Settled](s, 400*time.Millisecond, message.RoleDispatcher)); !slices.Equal(got,
			[]scheduler.JobID{2}) {
			t.Fatalf("settled when its row is free: %v", got)
		}
		db.take(start)
		after[*message.Settled](s, time.Minute, message.RoleDispatcher)
		if names, _ := db.take(start); names != nil {
			t.Errorf("with nothing owed it calls %q", names)
		}
	})
}

// What could not be written is kept and tried again, as what may be committed;
// the dispatcher hears of it, since its claims may be undone.
func TestLedger_KeepsWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	db := &records{down: errors.New("connection lost")}
	playLedger(t, db, func(s *stage) {
		s.outbox.Owe(settleOf(1)...)
		if got := after[*message.ConnLost](s, 0, message.RoleDispatcher); len(got) != 1 {
			t.Fatalf("the dispatcher is told %d times of the connection", len(got))
		}
		s.outbox.Owe(settleOf(2)...)
		db.down = nil
		if got := settledJobs(after[*message.Settled](s, time.Second, message.RoleDispatcher)); !slices.Equal(got,
			[]scheduler.JobID{1, 2}) {
			t.Fatalf("settled: %v", got)
		}
		if !slices.Equal(db.again, []bool{false, true, false}) {
			t.Errorf("may have been committed: %v", db.again)
		}
	})
}

// An outcome that the database refuses is let go; it holds up no other.
func TestLedger_ARefusedOutcomeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	db := &records{bad: map[scheduler.JobID]bool{3: true}}
	playLedger(t, db, func(s *stage) {
		s.outbox.Owe(settleOf(1, 2, 3, 4, 5)...)
		after[*message.Settled](s, 0, message.RoleDispatcher)
		names, _ := db.take(time.Now())
		for _, whole := range []string{"write[1 2]", "write[4 5]", "write[3]"} {
			if !slices.Contains(names, whole) {
				t.Errorf("no %s among %q", whole, names)
			}
		}
		select {
		case <-s.outbox.WhenEmpty():
		default:
			t.Error("something is owed still")
		}
	})
}

// What a ledger that died owed, the next one writes.
func TestLedger_WritesWhatTheLastOneOwed(t *testing.T) {
	t.Parallel()
	db := &records{}
	play(t, Config{Records: db}, func(s *stage) {
		s.listen(message.RoleDispatcher)
		s.outbox.Owe(settleOf(1)...)
		s.outbox.Take(time.Now()) // it had begun to write
		s.start(message.RoleLedger, ledger.New(s.forLedger()))
		if got := settledJobs(after[*message.Settled](s, 0, message.RoleDispatcher)); !slices.Equal(got,
			[]scheduler.JobID{1}) {
			t.Errorf("settled: %v", got)
		}
	})
}

// A job that is tried again later has its time told to the clock's rounds.
func TestLedger_TellsMaintenanceOfADelay(t *testing.T) {
	t.Parallel()
	playLedger(t, &records{}, func(s *stage) {
		list := settleOf(1)
		list[0].Verdict.State = scheduler.Scheduled
		s.outbox.Owe(list...)
		if got := after[*message.DueNow](s, 0, message.RoleMaintenance); len(got) != 1 {
			t.Errorf("maintenance is told %d times", len(got))
		}
	})
}

// After a write the ledger rests for three times as long as that took, but not
// from an outcome for which somebody may wait.
func TestLedger_RestsAfterAWrite(t *testing.T) {
	t.Parallel()
	const takes = time.Millisecond
	locked := settleOf(7)
	locked[0].Result.Line = &scheduler.Line{Locked: true}
	for name, c := range map[string]struct {
		owe   func(o *lasting.Outbox)
		rest  time.Duration
		frees bool
	}{
		"nobody waits for it":               {func(o *lasting.Outbox) { o.Owe(settleOf(3)...) }, 3 * takes, false},
		"somebody does":                     {func(o *lasting.Outbox) { o.Owe(settleOf(9)...) }, 0, false},
		"its job holds locks":               {func(o *lasting.Outbox) { o.Owe(locked...) }, 0, false},
		"given back":                        {func(o *lasting.Outbox) { o.Owe(scheduler.Record{Kind: scheduler.RecordRequeue}) }, 0, false},
		"somebody waits for all to be over": {func(o *lasting.Outbox) { o.WhenEmpty() }, 0, false},
		"others waited for what ended last": {func(*lasting.Outbox) {}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &records{takes: takes, frees: c.frees}
			playLedger(t, db, func(s *stage) {
				start := time.Now()
				s.awaited.Add([]scheduler.JobID{9}, start)
				s.outbox.Owe(settleOf(1)...) // after a long time: at once
				after[*message.Settled](s, takes, message.RoleDispatcher)
				s.outbox.Owe(settleOf(2)...)
				c.owe(s.outbox)
				after[*message.Settled](s, 5*takes, message.RoleDispatcher)
				names, at := db.take(start)
				if len(names) != 2 || at[1] != takes+c.rest {
					t.Errorf("wrote %q at %v", names, at)
				}
			})
		})
	}
}

// What agents say gathers like outcomes: a child that says much costs a write each time that the rest is over.
func TestLedger_RestsAfterWhatAgentsSay(t *testing.T) {
	t.Parallel()
	const takes = time.Millisecond
	db := &records{takes: takes}
	playLedger(t, db, func(s *stage) {
		start := time.Now()
		for range 40 {
			s.outbox.Entries([]scheduler.Entry{{Claim: claimOf(1)}})
			time.Sleep(takes / 10) // virtual
		}
		time.Sleep(10 * takes) // virtual
		if names, at := db.take(start); len(names) != 2 || at[1] != 4*takes {
			t.Errorf("wrote %q at %v", names, at)
		}
	})
}
