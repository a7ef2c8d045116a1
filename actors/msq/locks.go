package msq

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

const (
	// itemsAsked bounds for how many items one request asks.
	itemsAsked = 200
	// lockLinger is how long what the last item needed is kept for the next one, whose slot is about to come.
	lockLinger = 50 * time.Millisecond
	// lockRest is how long a job's items let others go first that have waited for what they had.
	lockRest = time.Second
	// restsMost bounds how many others it lets go first at once.
	restsMost = 100
)

// msqLocks is what an MSQ job knows of locks that its items need. An item goes from
// waiting (another item is in its way) to able (none is) to a child, when there is a
// slot and the job holds what it needs. It is hindered while another job has that.
type msqLocks struct {
	order    lock.Items
	waiting  map[int64]scheduler.Line
	able     itemPool
	hindered []scheduler.Line
	size     map[int64]int // of items that are not settled, in bytes
	bytes    int

	own      *lock.Set // what the job was claimed with; nil: not known yet
	has      lock.Set  // what it certainly holds for items
	surely   bool      // and nothing else
	slots    []slots   // that were granted, while the locks of the items for them are asked for
	asking   bool
	lingered bool
	noted    bool  // the dispatcher knows that the job holds locks
	inLine   int64 // the item for which it waits, as the database knows; 0: none
	tried    bool  // locks for that one were asked for since the last tick
	looks    bool  // whether others wait is to be asked
	rests    []rest
	why      string         // what the first that is hindered waits for, and its holder
	refused  time.Time      // when it was found last that it cannot be had
	said     tree.Complaint // of the last request
	failed   bool           // it has, and none is made before the next tick
	tick     *time.Timer
	linger   *time.Timer
}

// slots are what is left of a grant.
type slots struct {
	message.Grant
	to *actor.PID
}

// rest: others wait for this, and are let go first.
type rest struct {
	set   lock.Set
	until time.Time // zero: some of it is held still
}

// Messages of an msq to itself.
type (
	itemTick   struct{}
	itemLinger struct{}
	itemLocked struct {
		asked  []int64
		queued bool // its place in line was not to be touched
		looks  bool
		answer lock.ItemsAnswer
		own    *lock.Set
		err    error
	}
)

// addLocked takes a row that says which locks it needs.
func (q *msq) addLocked(l scheduler.Line, texts []string, err error) {
	var set lock.Set
	if err == nil {
		set, err = q.readLocks(texts)
	}
	if err != nil {
		q.failLocked(l, "locks_malformed: "+strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	if q.locks == nil {
		q.locks = &msqLocks{waiting: map[int64]scheduler.Line{}, size: map[int64]int{}, surely: true}
		if !q.job.Locked {
			q.locks.own = &lock.Set{}
		}
	}
	k := q.locks
	k.waiting[l.Item] = l
	k.size[l.Item] = len(l.Args)
	for _, text := range texts {
		k.size[l.Item] += len(text)
	}
	k.bytes += k.size[l.Item]
	k.order.Add(l.Item, set)
}

// failLocked fails an item that can never have its locks.
func (q *msq) failLocked(l scheduler.Line, why string) {
	q.books.Refuse(l)
	q.Outbox.Failed(scheduler.FailedItem{Claim: q.job.Claim, Item: l.Item, Line: l.Args, Error: why})
	if q.locks != nil {
		q.locks.over(l.Item)
	}
}

func (q *msq) readLocks(texts []string) (lock.Set, error) {
	if q.Desk == nil {
		return lock.AnyLevel.Read(texts)
	}
	return q.Desk.ReadLocks(texts)
}

// full reports whether enough items wait in memory.
func (k *msqLocks) full() bool {
	return len(k.waiting)+k.able.n+len(k.hindered) > readAhead/2 || k.bytes > readAheadBytes/2
}

// wanting is how many items want a slot.
func (k *msqLocks) wanting() int {
	n := k.able.n
	for _, s := range k.slots {
		n -= s.Now + s.Spawn
	}
	return max(0, n)
}

// over: an item is settled.
func (k *msqLocks) over(item int64) {
	k.order.Over(item)
	k.bytes -= k.size[item]
	delete(k.size, item)
}

// again takes back an item that no child has any more. It keeps its place among the items.
func (k *msqLocks) again(l scheduler.Line) bool {
	if k == nil || k.order.Locks(l.Item).Empty() {
		return false
	}
	k.hindered = append(k.hindered, l)
	k.sort()
	return true
}

// sort tries the hindered items again, in order: each becomes able, or is hindered still.
func (k *msqLocks) sort() {
	list := k.hindered
	k.able.each(func(l scheduler.Line) { list = append(list, l) })
	slices.SortFunc(list, func(a, b scheduler.Line) int { return cmp.Compare(a.Item, b.Item) })
	k.able, k.hindered = itemPool{}, nil
	for _, l := range list {
		k.place(l)
	}
}

func (k *msqLocks) place(l scheduler.Line) {
	set := k.order.Locks(l.Item)
	if k.failed || slices.ContainsFunc(k.rests, func(r rest) bool { is, _ := lock.Conflicts(set, r.set); return is }) {
		k.hindered = append(k.hindered, l)
		return
	}
	k.able.add(l)
}

// step does what can be done now for items with locks.
func (q *msq) stepLocks(c actor.Context) {
	k := q.locks
	for _, item := range k.order.Next() {
		l := k.waiting[item]
		delete(k.waiting, item)
		k.place(l)
	}
	for i := range k.slots {
		q.dealCovered(&k.slots[i])
	}
	q.askLocks(c)
	if k.tick == nil && (len(k.size) > 0 || !k.has.Empty() || !k.surely || k.inLine != 0) {
		k.tick = q.Later(c.Self(), message.LockAgain, &itemTick{})
	}
}

// grantLocked takes of a grant what items with locks can use, now or when they have
// their locks. The rest is left in it.
func (q *msq) grantLocked(m *message.Grant, to *actor.PID) {
	k := q.locks
	s := slots{*m, to}
	q.dealCovered(&s)
	m.Now, m.Spawn = s.Now, s.Spawn
	free := s.Now + s.Spawn
	keep := min(free, len(k.fitting([]slots{s}, min(itemsAsked, k.wanting()))))
	if keep <= 0 || q.ending != nil || q.broken != nil {
		return
	}
	s.Now = min(keep, s.Now)
	s.Spawn = keep - s.Now
	m.Now, m.Spawn = m.Now-s.Now, m.Spawn-s.Spawn
	k.slots = append(k.slots, s)
}

// fitting are the first items that are able, and that some of the slots would take.
func (k *msqLocks) fitting(of []slots, most int) (list []scheduler.Line) {
	list = append(list, k.able.any[:min(most, len(k.able.any))]...)
	for name, at := range k.able.at {
		if slices.ContainsFunc(of, func(s slots) bool { return slices.Contains(s.Names, name) }) {
			list = append(list, at[:min(most, len(at))]...)
		}
	}
	slices.SortFunc(list, func(a, b scheduler.Line) int { return cmp.Compare(a.Item, b.Item) })
	return list[:min(most, len(list))]
}

// dealCovered deals items whose locks are held.
func (q *msq) dealCovered(s *slots) {
	k := q.locks
	if k.has.Empty() || s.Now+s.Spawn == 0 || q.ending != nil || q.broken != nil {
		return
	}
	var lines []scheduler.Line
	for _, l := range k.fitting([]slots{*s}, itemsAsked) {
		if s.Now+s.Spawn == 0 {
			break
		}
		if !k.has.Covers(k.order.Locks(l.Item)) {
			continue
		}
		k.able.remove(l)
		if l.Assigned = s.Now <= 0; l.Assigned {
			s.Spawn--
		} else {
			s.Now--
		}
		q.inFlight[l.Item] = inFlight{l, s.Host, s.to}
		lines = append(lines, l)
	}
	if len(lines) > 0 && s.to != nil {
		q.Send(s.to, &message.Deal{Epoch: s.Epoch, Type: q.job.Type, Lines: lines})
	}
}

// takeSlots takes those for which no item is left whose locks are to be asked for.
func (q *msq) takeSlots() (left []slots) {
	if k := q.locks; k != nil && (!k.asking || q.ending != nil) {
		left, k.slots = k.slots, nil
	}
	return left
}

func (q *msq) giveBack(left []slots) {
	for _, s := range left {
		if s.Now+s.Spawn > 0 {
			q.Tell(message.RoleDispatcher, &message.Refund{Host: s.Host, Type: q.job.Type, Epoch: s.Epoch, Now: s.Now,
				Spawn: s.Spawn})
		}
	}
}

// forgetLocked drops the items with locks that no child has.
func (q *msq) forgetLocked() {
	k := q.locks
	drop := func(l scheduler.Line) {
		q.books.Drop(l.Item)
		k.over(l.Item)
	}
	for _, l := range k.waiting {
		drop(l)
	}
	for _, l := range k.hindered {
		drop(l)
	}
	k.able.each(drop)
	k.order.Forget()
	k.waiting, k.able, k.hindered, k.rests, k.why = map[int64]scheduler.Line{}, itemPool{}, nil, nil, ""
}

// waitsForLocks says for what all items wait that were read; empty: not all do.
func (q *msq) waitsForLocks(now time.Time) string {
	k := q.locks
	if k == nil || len(q.inFlight) > 0 || q.retries.n+q.waiting.n > 0 {
		return ""
	}
	n := len(k.hindered) + k.able.n + len(k.waiting)
	if n == 0 || len(k.rests) == 0 && now.Sub(k.refused) > message.LockAgain*3/2 { // what they wait for is a slot
		return ""
	}
	return string(lock.LockHeld) + ": " + strconv.Itoa(n) + " of its items wait, the first for " + k.why
}

func (k *msqLocks) stop() {
	for _, t := range []*time.Timer{k.tick, k.linger} {
		if t != nil {
			t.Stop()
		}
	}
}
