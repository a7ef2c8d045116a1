package intake

import (
	"testing"

	"bellhop/scheduler"
)

// audited is a job on its way through the house, and an audit on its way beside
// it. Every step of either is a move; all orders of moves are tried.
type audited struct {
	// The job's claim: where it is, and what is known of it.
	inDatabase bool // not settled
	where      place
	owed       bool // an outcome is in the outbox
	news       bool // its settling is on the way to the dispatcher
	early      bool // and has been since before it was listed what is owed
	running    bool // the dispatcher knows of it
	result     bool // it was done, or was given back by whoever had it
	// The audit.
	step    int // how many of its steps are done
	read    bool
	held    bool // somebody reported it
	orphan  bool // among the orphans when they were listed
	owing   bool // among what was owed when that was listed
	settled bool // news of it came since the database was read
}

// place is where a line is.
type place int

const (
	onItsWay place = iota // in the mailbox of its child
	inChild               // a child has it
	orphaned              // in a process whose actor has died
	nowhere
)

// Steps of an audit, in their order.
const (
	readDatabase = iota
	askChild     // the child's answer, behind all that was in its mailbox
	listFirst
	listSecond
	compare // in the dispatcher, behind all that was in its mailbox
	over
)

// moves are the states that may follow. Orphans are listed first, or what is owed.
func (a audited) moves(orphansFirst bool) (next []audited) {
	add := func(change func(*audited)) {
		n := a
		change(&n)
		next = append(next, n)
	}
	end := func(n *audited) { n.owed, n.result, n.where = true, true, nowhere } // what is owed comes first
	switch a.where {
	case onItsWay:
		add(func(n *audited) { n.where = inChild })
		add(func(n *audited) { n.where = nowhere })
	case inChild:
		add(end)
		if a.step != askChild { // else another audit is begun
			add(func(n *audited) { n.where = orphaned })
		}
	case orphaned:
		add(end)
	}
	if a.owed {
		listing := listFirst
		if orphansFirst {
			listing = listSecond
		}
		add(func(n *audited) { n.owed, n.inDatabase, n.news, n.early = false, false, true, a.step <= listing })
	}
	if a.news {
		add(func(n *audited) {
			n.news, n.running = false, false
			n.settled = n.step > readDatabase
		})
	}
	switch {
	case a.step == readDatabase:
		add(func(n *audited) { n.step, n.read = a.step+1, a.inDatabase })
	case a.step == askChild && a.where != onItsWay:
		add(func(n *audited) { n.step, n.held = a.step+1, a.where == inChild })
	case a.step == listFirst && orphansFirst, a.step == listSecond && !orphansFirst:
		add(func(n *audited) { n.step, n.orphan = a.step+1, a.where == orphaned })
	case a.step == listFirst, a.step == listSecond:
		add(func(n *audited) { n.step, n.owing = a.step+1, a.owed })
	case a.compares():
		add(func(n *audited) { n.step = over })
	}
	return next
}

// compares: what was told before it was listed what is owed is heard by then.
func (a audited) compares() bool { return a.step == compare && !(a.news && a.early) }

// books are what the audit has found out by the time it compares.
func (a audited) books() Books {
	hold := scheduler.Hold{Claim: scheduler.Claim{Job: 1, Fence: 1}}
	b := NewBooks()
	set := func(is bool) map[scheduler.Claim]bool { return map[scheduler.Claim]bool{hold.Claim: is} }
	if a.read {
		b.Database = append(b.Database, hold)
	}
	b.Held, b.Settled, b.Orphans, b.Owed = set(a.held), set(a.settled), set(a.orphan), set(a.owing)
	b.Running = map[scheduler.JobID]scheduler.Hold{}
	if a.running {
		b.Running[1] = hold
	}
	return b
}

// walk tries every order of moves from every beginning, and calls see with each
// state in which the audit compares.
func walk(orphansFirst bool, see func(audited)) (states int) {
	been := map[audited]bool{}
	var all []audited
	for _, known := range []bool{true, false} { // to this dispatcher, or to the one before it
		for where := onItsWay; where <= nowhere; where++ {
			all = append(all, audited{inDatabase: true, where: where, running: known})
		}
		all = append(all, audited{inDatabase: true, where: nowhere, running: known, owed: true, result: true})
	}
	for len(all) > 0 {
		a := all[len(all)-1]
		all = all[:len(all)-1]
		if been[a] {
			continue
		}
		been[a] = true
		if a.compares() {
			see(a)
		}
		all = append(all, a.moves(orphansFirst)...)
	}
	return len(been)
}

// Law: whatever the order in which a job is dealt, answered and written, in
// which actors die and an audit asks, the job is given back if, and only if, no
// actor, no process and no outbox has it; and it is forgotten only when it is
// settled.
func TestReconcile_IsExact(t *testing.T) {
	t.Parallel()
	lost, states := 0, 0
	states = walk(true, func(a audited) {
		f := Reconcile(a.books())
		gone := a.where == nowhere && !a.result
		if (len(f.Lost) > 0) != gone {
			t.Errorf("nobody has it: %v, given back: %v: %+v", gone, len(f.Lost) > 0, a)
		}
		if len(f.Forget) > 0 && a.inDatabase {
			t.Errorf("forgotten, and ours: %+v", a)
		}
		if a.read && !a.settled && !a.running && len(f.Learn) != 1 {
			t.Errorf("ours, and not learnt: %+v", a)
		}
		lost += len(f.Lost)
	})
	if lost == 0 || states < 50 {
		t.Errorf("%d states, and lost in %d of them: that shows nothing", states, lost)
	}
}

// Were orphans listed after what is owed, a process could end in between: what
// it has finished would be given back.
func TestReconcile_OrphansComeBeforeWhatIsOwed(t *testing.T) {
	t.Parallel()
	wrong := 0
	walk(false, func(a audited) {
		if a.result && len(Reconcile(a.books()).Lost) > 0 {
			wrong++
		}
	})
	if wrong == 0 {
		t.Error("the order makes no difference: then the model does not see the race")
	}
}

// What belongs to MSQ jobs, and what only a table shows.
func TestReconcile_Cases(t *testing.T) {
	t.Parallel()
	job := func(n scheduler.JobID) scheduler.Hold {
		return scheduler.Hold{Claim: scheduler.Claim{Job: n, Fence: 1}}
	}
	of := func(h scheduler.Hold) map[scheduler.Claim]bool { return map[scheduler.Claim]bool{h.Claim: true} }
	running := map[scheduler.JobID]scheduler.Hold{1: job(1)}
	for _, c := range []struct {
		name                                string
		books                               Books
		learn, lost, unowned, forget, runAs int
	}{
		{"nothing", Books{}, 0, 0, 0, 0, 0},
		{"an MSQ job that runs",
			Books{Database: []scheduler.Hold{job(1)}, Held: of(job(1)), Open: of(job(1)), Running: running},
			0, 0, 0, 0, 1},
		{"one that another dispatcher knew of",
			Books{Database: []scheduler.Hold{job(1)}, Held: of(job(1)), Open: of(job(1))},
			1, 0, 0, 0, 1},
		{"one whose actor is gone, and items of it run",
			Books{Database: []scheduler.Hold{job(1)}, Items: of(job(1)), Running: running},
			0, 0, 1, 0, 0},
		{"one that is not ours any more", Books{Held: of(job(1)), Open: of(job(1))}, 0, 0, 0, 0, 0},
		{"settled, and the news was lost", Books{Running: running}, 0, 0, 0, 1, 0},
		{"settled since the database was read",
			Books{Database: []scheduler.Hold{job(1)}, Settled: of(job(1))}, 0, 0, 0, 0, 0},
		{"nobody has it", Books{Database: []scheduler.Hold{job(1)}, Running: running}, 0, 1, 0, 0, 0},
	} {
		f := Reconcile(c.books)
		got := [5]int{len(f.Learn), len(f.Lost), len(f.Unowned), len(f.Forget), len(f.MSQs)}
		if want := [5]int{c.learn, c.lost, c.unowned, c.forget, c.runAs}; got != want {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}
