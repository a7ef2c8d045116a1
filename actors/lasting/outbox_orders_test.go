package lasting

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

// Every order of events between the outbox, its writer and the database, searched whole for two jobs with a start and
// an outcome each. The outbox is the program's own. A write may be carried out wholly, for one record or not at all,
// and its answer may be lost; an app locks rows; another instance takes a job over.
//
// Wrong is that a record is in no part of the outbox and neither written nor refused; that a record is written under a
// claim that is over, or twice; that an outcome which is written is reported as refused; and that a start is written
// after its outcome.

// jobRow is a job in the database.
type jobRow struct {
	over    bool // another instance has it, under a later fence
	locked  bool // by an app's transaction
	started bool
	ended   int // how often an outcome was written
}

// world is a state of the search.
type world struct {
	box     *Outbox
	rows    [2]jobRow
	owed    [2]int     // records that the job's run has given: its start, then its outcome
	settled [2][2]bool // its start and its outcome are written, or refused and told of
	writing bool       // a batch was taken, and what became of it is not known
	took    scheduler.Batch
	wrong   string
	what    string // what has happened last
	from    *world // and in which world
}

// leaveOut is a guard that is left out.
type leaveOut struct {
	kept  bool // what was not acknowledged is kept
	maybe bool // and written again as what may be committed
	fence bool // a write needs its claim
	aside bool // what is locked is put aside
	order bool // later records of a job wait for those that are put aside
}

var orderTimes = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func copied(b scheduler.Batch) scheduler.Batch {
	b.Records = slices.Clone(b.Records)
	return b
}

// next is a copy of the world in which something happens.
func (w *world) next(what string, change func(*world)) *world {
	o := w.box
	box := NewOutbox(func() {}, o.awaited)
	box.waiting, box.inFlight, box.flushing = copied(o.waiting), copied(o.inFlight), o.flushing
	box.asked, box.hurry = o.asked, o.hurry
	box.deferred = o.deferred
	box.deferred.batch, box.deferred.jobs = copied(o.deferred.batch), slices.Clone(o.deferred.jobs)
	to := *w
	to.box, to.took = box, copied(w.took)
	to.what, to.from = what, w
	change(&to)
	return &to
}

// way is what has happened, in its order.
func (w *world) way() (list []string) {
	for ; w.from != nil; w = w.from {
		list = append([]string{w.what}, list...)
	}
	return list
}

// key tells states apart; how long something rests makes no difference.
func (w *world) key() string {
	o := w.box
	key := make([]byte, 0, 64)
	flags := func(all ...bool) {
		for _, is := range all {
			key = append(key, map[bool]byte{true: '1', false: '0'}[is])
		}
	}
	for n, row := range w.rows {
		key = append(key, byte('0'+w.owed[n]), byte('0'+row.ended))
		flags(row.over, row.locked, row.started, w.settled[n][0], w.settled[n][1])
	}
	flags(w.writing, o.flushing, o.deferred.inFlight, w.wrong != "")
	for _, b := range []scheduler.Batch{w.took, o.waiting, o.inFlight, o.deferred.batch} {
		key = append(key, '|')
		flags(b.MaybeCommitted)
		for i := range b.Records {
			key = append(key, byte('0'+b.Records[i].Claim.Job), byte('0'+b.Records[i].Kind))
		}
	}
	for _, job := range o.deferred.jobs {
		key = append(key, 'j', byte('0'+job))
	}
	return string(key)
}

// write carries out the first records of the batch, as sql/store and the ledger do.
func (w *world) write(out leaveOut, most int) (busy []scheduler.JobID) {
	for n, r := range w.took.Records {
		row := &w.rows[r.Claim.Job]
		settled := &w.settled[r.Claim.Job][min(r.Kind, 1)]
		before := r.Kind == scheduler.RecordStart && row.started || r.Kind == scheduler.RecordSettle && row.ended > 0
		switch {
		case n >= most:
		case row.locked:
			busy = append(busy, r.Claim.Job)
		case before && w.took.MaybeCommitted: // it is recognised
			*settled = true
		case r.Kind == scheduler.RecordStart && row.ended > 0:
			w.wrong = "a start is written after its outcome"
		case before:
			w.wrong = "a record that is written is reported as refused"
		case row.over && !out.fence: // refused, and told of
			*settled = true
		case row.over:
			w.wrong = "a record is written under a claim that is over"
		case r.Kind == scheduler.RecordStart:
			row.started, *settled = true, true
		default:
			row.ended++
			*settled = true
		}
	}
	return busy
}

// forgotten is a record that no part of the outbox has, and that is neither written nor refused.
func (w *world) forgotten() string {
	o, has := w.box, w.settled
	for _, b := range []scheduler.Batch{o.waiting, o.inFlight, o.deferred.batch} {
		for _, r := range b.Records {
			has[r.Claim.Job][min(r.Kind, 1)] = true
		}
	}
	for job, n := range w.owed {
		for kind := range n {
			if !has[job][kind] {
				return fmt.Sprintf("the outbox has forgotten record %d of job %d", kind, job)
			}
		}
	}
	return ""
}

func (w *world) moves(out leaveOut) (list []*world) {
	can := func(what string, change func(*world)) { list = append(list, w.next(what, change)) }
	for job := range w.rows {
		if kind := w.owed[job]; kind < 2 {
			can(fmt.Sprint("job ", job, ": its run gives record ", kind), func(w *world) {
				w.box.Owe(scheduler.Record{
					Kind:  []scheduler.RecordKind{scheduler.RecordStart, scheduler.RecordSettle}[kind],
					Claim: scheduler.Claim{Job: scheduler.JobID(job), Fence: 1},
				})
				w.owed[job]++
			})
		}
		can(fmt.Sprint("an app locks or frees job ", job), func(w *world) { w.rows[job].locked = !w.rows[job].locked })
		if !w.rows[job].over && w.rows[job].ended == 0 {
			can(fmt.Sprint("another instance takes over job ", job), func(w *world) { w.rows[job].over = true })
		}
	}
	if !w.writing {
		for what, now := range map[string]time.Time{"early": orderTimes, "late": orderTimes.Add(time.Hour)} {
			can("the ledger takes a batch "+what, func(w *world) { w.take(out, now) })
		}
		return list
	}
	can("the write is carried out, and the answer comes", func(w *world) {
		busy := w.write(out, len(w.took.Records))
		if out.aside {
			busy = nil
		}
		w.box.Acked(busy, orderTimes)
		w.writing, w.took = false, scheduler.Batch{}
	})
	for most := range len(w.took.Records) + 1 {
		can(fmt.Sprint("of the write ", most, " are carried out, and no answer comes"), func(w *world) {
			w.write(out, most)
			w.writing, w.took = false, scheduler.Batch{}
			if out.kept {
				w.box.Acked(nil, orderTimes)
			}
		})
	}
	return list
}

func (w *world) take(out leaveOut, now time.Time) {
	jobs := w.box.deferred.jobs
	if out.order && !w.box.flushing && !w.box.deferred.due(now) {
		w.box.deferred.jobs = nil
		defer func() { w.box.deferred.jobs = jobs }()
	}
	batch, _, _ := w.box.Take(now)
	if out.maybe {
		batch.MaybeCommitted = false
	}
	w.took, w.writing = copied(batch), !batch.Empty()
}

// searchOrders visits every state, the nearest first.
func searchOrders(out leaveOut) (states int, wrong string, way []string) {
	begin := &world{box: NewOutbox(func() {}, &Awaited{})}
	seen := map[string]bool{begin.key(): true}
	for queue := []*world{begin}; len(queue) > 0; queue = queue[1:] {
		w := queue[0]
		states++
		if w.wrong == "" {
			w.wrong = w.forgotten()
		}
		if w.wrong != "" {
			return states, w.wrong, w.way()
		}
		for _, to := range w.moves(out) {
			if k := to.key(); !seen[k] {
				seen[k] = true
				queue = append(queue, to)
			}
		}
	}
	return states, "", nil
}

func TestOutbox_NoOrderLosesOrRepeatsARecord(t *testing.T) {
	t.Parallel()
	began := time.Now()
	states, wrong, way := searchOrders(leaveOut{})
	if wrong != "" {
		t.Errorf("%s, after:\n  %s", wrong, strings.Join(way, "\n  "))
	}
	t.Logf("%d states in %s", states, time.Since(began))
}

// A search that finds nothing where a guard is left out proves nothing.
func TestOutbox_EachGuardOfTheOrdersIsNeeded(t *testing.T) {
	t.Parallel()
	for guard, out := range map[string]leaveOut{
		"what is not acknowledged is kept":                         {kept: true},
		"it is written again as what may be committed":             {maybe: true},
		"a write needs its claim":                                  {fence: true},
		"what is locked is put aside":                              {aside: true},
		"later records of a job wait for those that are put aside": {order: true},
	} {
		states, wrong, way := searchOrders(out)
		if wrong == "" {
			t.Errorf("%s: %d states, and none is wrong", guard, states)
		}
		t.Logf("%s: %s, after:\n  %s", guard, wrong, strings.Join(way, "\n  "))
	}
}
