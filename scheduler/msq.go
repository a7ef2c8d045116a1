package scheduler

import (
	"fmt"
	"hash/maphash"
	"regexp"
)

// ItemTries is how often an item is tried before it is recorded as failed.
const ItemTries = 3

// sameRounds is how many rounds in a row may bring the very same rows before
// the job is taken to make no progress.
const sameRounds = 3

// failedMost bounds what an MSQ job remembers of its failed items: past it the
// job fails, since something other than the items is wrong.
const failedMost = 100_000

var limit = regexp.MustCompile(`(?i)\blimit\b`)

// RepeatOf is how often a query runs when its job does not say: a LIMIT means
// that there is more, so until it is empty.
func RepeatOf(said Repeat, query string) Repeat {
	if said != "" {
		return said
	}
	if limit.MatchString(query) {
		return RepeatUntilEmpty
	}
	return RepeatOnce
}

// MSQ is what is decided about one MSQ job: which rows become items, what
// becomes of an item that failed, and when the job is over. It remembers the
// items in flight and the failed ones, never the rows.
type MSQ struct {
	Repeat Repeat
	Round  int // of the query, from 1
	Items  Items
	// Successes counts the `Success` lines that agents said over items.
	Successes int

	next     int64           // number of the next item
	tries    map[int64]int   // failures of items that are not settled
	skip     map[uint64]bool // lines that failed for good, by hash: not again in this job
	read     int64           // rows of this round
	taken    int64           // rows of this round that became items
	sum      uint64          // of this round's rows, whatever their order
	before   [2]uint64       // sum and count of the last round
	same     int             // rounds in a row with the same rows
	inFlight int             // items given out and not settled
	over     bool            // the last row of this round has been read
}

// NewMSQ starts the books of an MSQ job.
func NewMSQ(r Repeat) *MSQ {
	return &MSQ{Repeat: r, Round: 1, Items: Items{Total: -1}, tries: map[int64]int{}, skip: map[uint64]bool{}}
}

var seed = maphash.MakeSeed()

// Row takes a row of the query, as the line an agent would get. It returns the
// number of the item, or false for a row that has failed for good before.
func (m *MSQ) Row(line string) (item int64, ok bool) {
	h := maphash.String(seed, line)
	m.read++
	m.sum += h // a sum does not care for the order of rows
	if m.skip[h] {
		return 0, false
	}
	m.taken++
	m.inFlight++
	m.next++
	return m.next, true
}

// End says that the last row of the round has been read.
func (m *MSQ) End() { m.over = true }

// InFlight is how many items are not settled.
func (m *MSQ) InFlight() int { return m.inFlight }

// ItemVerdict is what becomes of an item after a try.
type ItemVerdict uint8

const (
	ItemDone   ItemVerdict = iota // settled, well
	ItemRetry                     // to be tried again
	ItemFailed                    // settled, badly: to be recorded
)

// Answer takes the result of one try at an item, and tells how many tries it
// has had that counted.
func (m *MSQ) Answer(r Result) (ItemVerdict, int) {
	item := r.Line.Item
	m.Successes += r.Successes
	switch r.Outcome {
	case OutcomeSucceeded:
		m.settle(item)
		m.Items.Done++
		return ItemDone, 0
	case OutcomeLost:
		return ItemRetry, m.tries[item]
	}
	m.tries[item]++
	n := m.tries[item]
	if n < ItemTries && (r.Answer == nil || !r.Answer.Never) {
		return ItemRetry, n
	}
	m.settle(item)
	m.Items.Failed++
	m.skip[maphash.String(seed, r.Line.Args)] = true
	return ItemFailed, n
}

// Refuse settles an item that can run nowhere: it is not tried at all.
func (m *MSQ) Refuse(l Line) {
	m.settle(l.Item)
	m.Items.Failed++
	m.skip[maphash.String(seed, l.Args)] = true
}

// Drop forgets an item that will not be tried any more.
func (m *MSQ) Drop(item int64) { m.settle(item) }

func (m *MSQ) settle(item int64) {
	delete(m.tries, item)
	m.inFlight--
}

// Restart begins the round anew after the query was cut off: its rows come
// again, those of the first try included. What has failed for good is not tried
// again and stays counted.
func (m *MSQ) Restart() {
	m.read, m.taken, m.sum, m.over = 0, 0, 0, false
	if m.Repeat == RepeatOnce {
		m.Items = Items{Total: -1, Failed: m.Items.Failed}
	}
}

// Next is what follows when the last row was read and every item is settled.
type Next uint8

const (
	NextWait   Next = iota // not there yet
	NextRound              // run the query again
	NextFinish             // the job is over; Conclusion tells how
)

// MSQVerdict is how an MSQ job ends.
type MSQVerdict struct {
	OK    bool
	Error string
}

// Turn decides what follows now. It moves to the next round by itself.
func (m *MSQ) Turn() (Next, MSQVerdict) {
	if len(m.skip) > failedMost {
		return m.finish(fmt.Sprintf("too_many_failures: more than %d items failed", failedMost))
	}
	if !m.over || m.inFlight > 0 {
		return NextWait, MSQVerdict{}
	}
	if m.Repeat == RepeatOnce || m.read == 0 {
		return m.finish("")
	}
	if m.taken == 0 {
		return m.finish(
			fmt.Sprintf("no_progress: the query yields only %d rows that have failed %d times each", m.read, ItemTries))
	}
	now := [2]uint64{m.sum, uint64(m.read)}
	if now == m.before {
		m.same++
	} else {
		m.same = 1
	}
	if m.same >= sameRounds {
		return m.finish(fmt.Sprintf("no_progress: the query yielded the same %d rows %d times, though the agent said OK to them", m.read, m.same))
	}
	m.before, m.read, m.taken, m.sum, m.over = now, 0, 0, 0, false
	m.Round++
	return NextRound, MSQVerdict{}
}

func (m *MSQ) finish(why string) (Next, MSQVerdict) {
	m.Items.Total = m.Items.Done + m.Items.Failed
	if why == "" && m.Items.Failed > 0 {
		why = fmt.Sprintf("items_failed: %d of %d items failed; see bellhop.item", m.Items.Failed, m.Items.Total)
	}
	return NextFinish, MSQVerdict{OK: why == "", Error: why}
}
