package notice

import (
	"slices"
	"time"
)

// The bounds of what is under way at once. A receiver is a host of webhooks, the server of mail, or a command.
const (
	Slots       = 64        // messages in all
	Each        = 4         // messages to one receiver
	MostPause   = time.Hour // the longest that a receiver can ask to be left alone
	forgetAfter = time.Hour // a failure counts no longer
)

// Traffic is what is under way to each receiver, so that one that hangs or fails keeps none from another. The zero
// value has nothing under way.
type Traffic struct {
	receivers map[string]*receiver
	under     int
}

type receiver struct {
	under    int       // messages to it that are under way
	failedAt time.Time // of the last try; zero: it succeeded, or there was none
	until    time.Time // it wants none before
}

// Start notes that a message to a receiver is under way.
func (t *Traffic) Start(name string) {
	if t.receivers == nil {
		t.receivers = map[string]*receiver{}
	}
	r := t.receivers[name]
	if r == nil {
		r = &receiver{}
		t.receivers[name] = r
	}
	r.under, t.under = r.under+1, t.under+1
}

// End notes what became of it.
func (t *Traffic) End(name string, o Outcome, now time.Time) {
	r := t.receivers[name]
	if r == nil {
		return
	}
	r.under, t.under = r.under-1, t.under-1
	switch {
	case o.Error == "" || o.Over: // a message that is refused for good says nothing of the next one
		r.failedAt = time.Time{}
	default:
		r.failedAt = now
	}
	if o.Pause > 0 {
		r.until = now.Add(min(o.Pause, MostPause))
	}
}

// Room is how many messages can be sent now: Most in all, no more than Each to a receiver, and to those that are named
// no more than their own number.
type Room struct {
	Most, Each int
	Receivers  []string
	Rooms      []int
	Full       []string      // the receivers among them that have no room
	Next       time.Duration // until the first of them has room by the clock alone; negative: none
}

// Room is what there is room for. A receiver whose last try failed gets one message at a time.
func (t *Traffic) Room(now time.Time) Room {
	room := Room{Most: Slots - t.under, Each: Each, Receivers: []string{}, Rooms: []int{}, Full: []string{}, Next: -1}
	names := make([]string, 0, len(t.receivers))
	for name, r := range t.receivers {
		if now.Sub(r.failedAt) >= forgetAfter {
			r.failedAt = time.Time{}
		}
		if r.under == 0 && r.failedAt.IsZero() && !r.until.After(now) {
			delete(t.receivers, name)
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		r := t.receivers[name]
		most := Each
		if !r.failedAt.IsZero() {
			most = 1
		}
		left := max(0, most-r.under)
		if wait := r.until.Sub(now); wait > 0 {
			left = 0
			if room.Next < 0 || wait < room.Next {
				room.Next = wait
			}
		}
		room.Receivers, room.Rooms = append(room.Receivers, name), append(room.Rooms, left)
		if left == 0 {
			room.Full = append(room.Full, name)
		}
	}
	return room
}
