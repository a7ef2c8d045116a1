package position

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"bellhop/scheduler"
)

// becomesReady has a claimed job become ready again, as a retry does: its transaction stays the one that inserted it.
func (q *aQueue) becomesReady() {
	for _, i := range q.luck.Perm(len(q.rows)) {
		if r := q.rows[i]; r.claimed {
			r.claimed, r.again = false, true
			return
		}
	}
}

// look is below.sql.
func (q *aQueue) look(l *Look) (found Found) {
	xmax, _ := strconv.Atoi(l.Xmax)
	for _, r := range q.rows {
		tx := strconv.Itoa(r.tx)
		if q.sees(r) && r.tx < xmax && !slices.Contains(l.InProgress, tx) && !slices.Contains(found.Transactions, tx) {
			found.Transactions = append(found.Transactions, tx)
		}
	}
	return found
}

// looking needs no proof that claims walk far: one that takes long is enough.
func looking() *Position {
	p := New()
	p.horizons.proofs = 0
	return p
}

// A claim that takes long on a busy machine is no reason for a look, beside which less urgent jobs overtake: several in
// a row are, each far longer than the statement before it.
func TestPosition_ABusyMachineMakesNoLooks(t *testing.T) {
	t.Parallel()
	const long, trip = 40 * time.Millisecond, time.Millisecond
	for name, c := range map[string]struct {
		claims []Taken
		took   []time.Duration
		looks  bool
	}{
		"four walks":               {[]Taken{{}, {"1:9:", trip}, {"1:9:", trip}, {"1:9:", trip}, {"1:9:", trip}}, []time.Duration{long, long, long, long, long}, true},
		"three":                    {[]Taken{{}, {"1:9:", trip}, {"1:9:", trip}, {"1:9:", trip}}, []time.Duration{long, long, long, long}, false},
		"one was short":            {[]Taken{{"1:9:", trip}, {"1:9:", trip}, {"1:9:", trip}, {"1:9:", trip}}, []time.Duration{long, trip, long, long}, false},
		"all statements take long": {[]Taken{{"1:9:", long}, {"1:9:", long}, {"1:9:", long}, {"1:9:", long}}, []time.Duration{long, 2 * long, 3 * long, 2 * long}, false},
	} {
		p, d, now := New(), catDemand(4), positionStart
		for i, taken := range c.claims {
			d.Readmitted++
			p.Next(d, From{Behind: Beginning}, taken, nil, now, now.Add(c.took[i]))
			now = now.Add(c.took[i])
		}
		d.Readmitted++
		if f := p.From(d, now); (f.Look != nil) != c.looks || (f.Above != nil) != c.looks {
			t.Errorf("%s: it begins at %+v", name, f)
		}
	}
}

// aPlay is a queue with a position whose looks end some time after they began.
type aPlay struct {
	*testing.T
	*aQueue
	p          *Position
	readmitted uint64
	scans      uint64
	look       *Look          // the newest, under way
	older      *Look          // that another took the place of, or a lost connection
	seen       Found          // by it
	begun      map[*aRow]bool // what was ready again when it began
	owed       map[*aRow]bool // what is to come with the next claims
	walks      int
	looks      int
	found      int
}

func newPlay(t *testing.T, seed uint64) *aPlay {
	q := &aQueue{luck: rand.New(rand.NewPCG(seed, 1)), open: map[int]bool{}, next: 10, at: positionStart}
	return &aPlay{T: t, aQueue: q, p: looking(), readmitted: 1, begun: map[*aRow]bool{}, owed: map[*aRow]bool{}}
}

// ends ends the look that is under way.
func (a *aPlay) ends() {
	if a.older != nil {
		a.p.Looked(a.older, Found{Transactions: []string{"1"}}, a.at)
		a.older = nil
	}
	if a.look == nil {
		return
	}
	a.p.Looked(a.look, a.seen, a.at)
	for r := range a.begun {
		a.owed[r] = true
	}
	a.look, a.found = nil, a.found+len(a.seen.Transactions)
	clear(a.begun)
}

// begins begins one.
func (a *aPlay) begins(l *Look) {
	if a.look != nil {
		if a.look.known || !l.known {
			a.Fatal("two looks at once")
		}
		a.older = a.look
		clear(a.begun)
	}
	a.look, a.seen, a.looks = l, a.aQueue.look(l), a.looks+1
	for _, r := range a.rows {
		if a.sees(r) && r.again {
			a.begun[r] = true
		}
	}
}

// demand makes the claims of one demand. It gives how many of these rows it left though it had room.
func (a *aPlay) demand(d scheduler.Demand, must []*aRow) (left int) {
	room := limit(d)
	for rest, more := d, true; more; {
		f := a.p.From(rest, a.at)
		if f.Look != nil {
			a.begins(f.Look)
		}
		var taken Taken
		if f.Snapshot {
			taken = Taken{Text: a.snapshot(), Took: time.Microsecond}
		}
		jobs, began := a.claim(f, limit(rest)), a.at
		for _, j := range jobs {
			if !slices.ContainsFunc(must, func(r *aRow) bool { return r.key.ID == j.Claim.Job }) {
				room-- // it is ready again, and came before a look found it
			}
		}
		if a.at = a.at.Add(100 * time.Microsecond); f.Above == nil && !f.tail {
			a.at, a.walks = a.at.Add(50*time.Millisecond), a.walks+1
		}
		rest, more = a.p.Next(rest, f, taken, jobs, began, a.at)
	}
	for _, r := range a.rows {
		if r.claimed {
			delete(a.owed, r)
			delete(a.begun, r)
		}
	}
	for _, r := range must {
		if !r.claimed {
			left++
		}
	}
	return min(left, left-len(must)+room)
}

// ready lists the rows that a claim is to bring: all that never were claimed, and of the others, which.
func (a *aPlay) ready(which func(*aRow) bool) (must []*aRow) {
	for _, r := range a.rows {
		if a.sees(r) && (!r.again || which(r)) {
			must = append(must, r)
		}
	}
	return must
}

// Law: while looks are made beside claims, a demand brings the most urgent of the jobs that never were claimed, and all
// that became ready again before the last look began. No claim walks past dead entries meanwhile, but for the first
// ones. When nothing more happens, nothing is left.
func TestPosition_LooksFindWhatIsReadyAgain(t *testing.T) {
	t.Parallel()
	var walks, looks, found int
	for seed := range uint64(2000) {
		a := newPlay(t, seed)
		ask := func(n int) scheduler.Demand {
			d := catDemand(n)
			d.Ring, d.Readmitted, d.Scans = a.ring, a.readmitted, a.scans
			return d
		}
		for range 150 {
			for range a.luck.IntN(5) {
				a.happens()
			}
			if a.luck.IntN(6) == 0 {
				a.becomesReady()
				a.readmitted, a.ring = a.readmitted+1, a.ring+1
			}
			if a.luck.IntN(20) == 0 {
				a.readmitted, a.scans, a.ring = a.readmitted+1, a.scans+1, a.ring+1
			}
			switch a.luck.IntN(40) {
			case 0: // a connection is lost
				a.p.Forget()
				a.older, a.look = a.look, nil
				clear(a.begun)
			case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12:
				a.ends()
			}
			a.at = a.at.Add(time.Duration(a.luck.IntN(60)) * time.Millisecond) // snapshots grow old
			must := a.ready(func(r *aRow) bool { return a.owed[r] })
			if left := a.demand(ask(1+a.luck.IntN(4)), must); left > 0 {
				t.Fatalf("seed %d: there was room, and %d of %s were left", seed, left, told(must))
			}
		}
		clear(a.open)
		for range 4 { // a look may be under way already, that began before the last one became ready
			a.ring++
			a.demand(ask(len(a.rows)), nil)
			a.ends()
		}
		a.ring++
		a.demand(ask(len(a.rows)), nil)
		if left := a.ready(func(*aRow) bool { return true }); len(left) > 0 {
			t.Fatalf("seed %d: at the end there is left %s", seed, told(left))
		}
		walks, looks, found = walks+a.walks, looks+a.looks, found+a.found
	}
	t.Logf("%d walks, %d looks, %d transactions found", walks, looks, found)
	if looks < 2000 || found < 2000 || walks > 10*looks {
		t.Errorf("%d walks, %d looks found %d transactions: this shows nothing of looks", walks, looks, found)
	}
}

func told(rows []*aRow) (all []string) {
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%v of %d claimed %t again %t", r.key, r.tx, r.claimed, r.again))
	}
	return all
}

// What a look found belongs to claims above the horizon it speaks for, and to no other.
func TestPosition_WhatALookFindsIsForItsHorizon(t *testing.T) {
	t.Parallel()
	const walk = 100 * time.Millisecond
	d := catDemand(4)
	stale := func() (*Position, *Look) {
		p := looking()
		p.Next(d, p.From(d, positionStart), Taken{}, nil, positionStart, positionStart.Add(walk))
		f := p.From(d, positionStart)
		p.Next(d, f, Taken{Text: "10:12:11", Took: time.Microsecond}, nil, positionStart, positionStart.Add(walk))
		d.Readmitted++
		if f = p.From(d, positionStart.Add(walk)); f.Look == nil || f.Above == nil {
			t.Fatalf("it begins at %+v", f)
		}
		return p, f.Look
	}
	later := positionStart.Add(2 * walk)
	for name, c := range map[string]struct {
		found Found
		above string // the horizon's transactions afterwards; none: the next claim is one of everything
	}{
		"nothing":                            {Found{}, "[11]"},
		"a job":                              {Found{Transactions: []string{"9"}}, "[11 9]"},
		"a job of a transaction under way":   {Found{Transactions: []string{"11"}}, "[11]"},
		"a job that a claim above finds too": {Found{Transactions: []string{"12", "113"}}, "[11]"},
		"more than it tells":                 {Found{Transactions: []string{"9"}, Failed: true}, ""},
		"jobs of too many transactions":      {Found{Transactions: numbers(1000, horizonInProgress+1)}, ""},
	} {
		p, look := stale()
		if name == "jobs of too many transactions" {
			p.horizons.of["cat"].xmax = "9999"
		}
		p.Looked(look, c.found, later)
		f := p.From(d, later)
		if above := f.Above; (above == nil) != (c.above == "") || above != nil && fmt.Sprint(above.InProgress) != c.above {
			t.Errorf("%s: the next claim begins at %+v", name, f)
		}
		if f.Look != nil {
			t.Errorf("%s: another look begins", name)
		}
	}
	p, look := stale()
	p.Forget()
	p.Looked(look, Found{Transactions: []string{"9"}}, later)
	if f := p.From(d, later); f.Above != nil || f.Look != nil {
		t.Errorf("after a lost connection it begins at %+v", f)
	}
	p, look = stale()
	delete(p.horizons.of, "cat") // much has come: the next claim looks at everything
	d.Readmitted++
	p.Next(d, p.From(d, later), Taken{Text: "20:22:"}, nil, later, later.Add(walk))
	p.Looked(look, Found{}, later.Add(walk))
	if f := p.From(d, later.Add(walk)); f.Above == nil || f.Above.Xmax != "22" || f.Look != nil {
		t.Errorf("a claim of everything came later than the look, and the next one begins at %+v", f)
	}
	p, look = stale()
	p.Looked(look, Found{Took: time.Second}, later)
	d.Readmitted++
	if f := p.From(d, later); f.Look == nil || f.Look.After != lookRestKnown*time.Second {
		t.Errorf("after a look of a second the next one begins after %+v", f.Look)
	}
	p, look = stale()
	p.Looked(look, Found{Took: time.Second}, later)
	d.Readmitted, d.Scans = d.Readmitted+1, d.Scans+1
	scan := p.From(d, later).Look
	if scan == nil || scan.After != lookRest*time.Second {
		t.Fatalf("a scan after a look of a second makes the next one after %+v", scan)
	}
	if f := p.From(d, later); f.Above == nil || f.Look != nil {
		t.Errorf("while it rests, a claim begins at %+v", f)
	}
	d.Readmitted++
	if f := p.From(d, later); f.Look == nil || f.Look.After != lookRestKnown*time.Second {
		t.Errorf("a job that is known to be ready again waits for %+v", f.Look)
	}
	if p.Looked(scan, Found{Transactions: []string{"9"}}, later); p.looking == nil {
		t.Error("a look that another took the place of ends the other")
	}
}

// Claims of two types look for what a look has found of either, and for no transaction twice.
func TestPosition_TwoHorizonsAreOne(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return positionStart.Add(time.Duration(ms) * time.Millisecond) }
	old := &horizon{heard: heard{3, 1}, taken: at(1), whole: at(1), xmax: "99", inProgress: []string{"97"}}
	newer := &horizon{heard: heard{2, 4}, taken: at(5), whole: at(0), xmax: "150", inProgress: []string{"5", "97", "99", "120"}}
	for _, both := range []*horizon{old.with(newer), newer.with(old)} {
		if got := fmt.Sprint(both.xmax, " ", both.inProgress, both.heard, both.whole.Equal(at(0))); got != "99 [97 5] {2 1} true" {
			t.Errorf("it looks above %s", got)
		}
	}
}

// A claim above the horizon of one type says nothing of another type's tail: behind a key of the wrong type, a backlog
// would wait.
func TestPosition_AClaimAboveAHorizonMovesNoTail(t *testing.T) {
	t.Parallel()
	const walk = 100 * time.Millisecond
	p, now := looking(), positionStart
	dogs, backlog := catDemand(2), catDemand(2)
	dogs.Types[0].Type = "dog"
	for _, text := range []string{"", "10:12:11"} { // the second one is under a snapshot
		p.Next(dogs, p.From(dogs, now), Taken{Text: text, Took: time.Microsecond}, nil, now, now.Add(walk))
		p.Next(backlog, p.From(backlog, now), Taken{Text: text, Took: time.Microsecond}, cats(1, 2), now, now.Add(walk))
	}
	f := p.From(dogs, now)
	if f.Above == nil {
		t.Fatalf("dogs begin at %+v", f)
	}
	late := cats(95_000, 2)
	for i := range late {
		late[i].Type = "dog"
	}
	p.Next(dogs, f, Taken{}, late, now, now)
	if f := p.From(backlog, now); f.Behind != (Key{ID: 2}) {
		t.Errorf("the backlog goes on at %+v", f)
	}
}

// A demand for several types looks beside its claims if any of them would walk far; and what a look finds is claimed
// under the horizon it looked under, though one of the types had a newer one.
func TestPosition_ALookForTwoTypesSpeaksForBoth(t *testing.T) {
	t.Parallel()
	p, now := looking(), positionStart
	both := catDemand(2)
	both.Types = append(both.Types, scheduler.TypeDemand{Type: "dog", Limit: 2, MaxPriority: 19})
	p.horizons.of["cat"] = &horizon{heard: heardIn(both), taken: now, whole: now, xmax: "100", inProgress: []string{}}
	p.horizons.of["dog"] = &horizon{
		heard: heardIn(both),
		taken: now.Add(1),
		whole: now,
		xmax:  "300",
	}
	p.horizons.walk["cat"], p.horizons.walk["dog"] = time.Second, time.Millisecond
	p.horizons.slow["cat"], p.horizons.slow["dog"] = true, true
	both.Readmitted++
	f := p.From(both, now)
	if f.Look == nil || f.Look.Xmax != "100" {
		t.Fatalf("it begins at %+v", f)
	}
	p.Looked(f.Look, Found{Transactions: []string{"50"}}, now)
	dogs := both
	dogs.Types = both.Types[1:]
	f = p.From(dogs, now)
	if f.Look != nil || f.Above == nil || f.Above.Xmax != "100" || fmt.Sprint(f.Above.InProgress) != "[50]" {
		t.Errorf("dogs begin at %+v", f)
	}
}

// A look is for every type that has a horizon: the types of one host, whose claims come first, would take each turn.
func TestPosition_LooksAreForTheTypesOfAllHosts(t *testing.T) {
	t.Parallel()
	p, now := looking(), positionStart
	cats, dogs := catDemand(2), catDemand(2)
	dogs.Types[0].Type = "dog"
	for _, d := range []scheduler.Demand{cats, dogs} {
		for _, text := range []string{"", "10:12:11"} {
			p.Next(d, p.From(d, now), Taken{Text: text, Took: time.Microsecond}, nil, now, now.Add(time.Second))
		}
	}
	now = now.Add(2 * time.Second)
	for range 3 {
		cats.Readmitted++
		dogs.Readmitted++
		look := p.From(cats, now).Look
		if look == nil || fmt.Sprint(look.Types) != "[cat dog]" {
			t.Fatalf("the look is %+v", look)
		}
		if f := p.From(dogs, now); f.Above == nil || f.Look != nil {
			t.Errorf("dogs begin at %+v", f)
		}
		p.Looked(look, Found{Transactions: []string{"7"}, Took: LookWhen}, now)
		if f := p.From(dogs, now); f.Look != nil || f.Above == nil || !slices.Contains(f.Above.InProgress, "7") {
			t.Errorf("after the look dogs begin at %+v", f)
		}
		now = now.Add(look.After)
	}
}

func numbers(first, n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(first+i))
	}
	return all
}
