package actors

import (
	"encoding/json"
	"time"

	"bellhop/scheduler"
)

func (q *msq) onGrant(m *grant) {
	now, spawn, to := m.Now, m.Spawn, q.h.pid(roleHost(m.Host))
	var lines []scheduler.Line
	for now+spawn > 0 && q.wanting() > 0 && q.ending == nil && q.broken == nil {
		l, ok := q.pop(m.Places)
		if !ok { // what was left is not for this host
			break
		}
		if l.Assigned = now <= 0; l.Assigned {
			spawn--
		} else {
			now--
		}
		q.flight[l.Item] = flight{l, m.Host, to}
		lines = append(lines, l)
	}
	if len(lines) > 0 {
		if to != nil {
			q.h.system.Root.Send(to, &deal{Epoch: m.Epoch, Type: q.job.Type, Lines: lines})
		}
	}
	if now+spawn > 0 {
		q.h.tell(roleDispatcher, &ungrant{Host: m.Host, Type: q.job.Type, Epoch: m.Epoch, Now: now, Spawn: spawn})
	}
	if q.told -= m.Now + m.Spawn; q.toldAt != nil {
		q.told = -1 // it cannot know which ones we took
	}
}

// waits tells which items wait while none of their place runs, by the name that
// they have in run_on ("": none), when that was so the last time too. It stands
// in waiting_for of the job, for bellhop.explanation.
func (q *msq) waits(now time.Time) string {
	at := q.waiting.count(q.again.count(map[string]int{"": len(q.again.any) + len(q.waiting.any)}))
	for _, f := range q.flight {
		delete(at, f.line.RunOn)
	}
	type wait struct {
		N     int       `json:"n"`
		Since time.Time `json:"since"`
	}
	was, told := q.stuck, map[string]wait{}
	q.stuck = map[string]time.Time{}
	for place, n := range at {
		if n == 0 {
			continue
		}
		since, again := was[place]
		if !again {
			since = now
		} else {
			told[place] = wait{n, since.UTC().Truncate(time.Millisecond)}
		}
		q.stuck[place] = since
	}
	if len(told) == 0 {
		return ""
	}
	text, _ := json.Marshal(told) // names, numbers and times
	return "items_wait: " + string(text)
}

// wanting is how many items want a child.
func (q *msq) wanting() int { return q.again.n + q.waiting.n }

func (q *msq) pop(places []string) (scheduler.Line, bool) {
	if l, ok := q.again.next(places); ok {
		return l, true
	}
	return q.waiting.next(places)
}

// forget drops the items that no child has.
func (q *msq) forget() {
	drop := func(l scheduler.Line) { q.books.Drop(l.Item) }
	q.again.each(drop)
	q.waiting.each(drop)
	q.again, q.waiting = pool{}, pool{}
}

func (q *msq) onAnswer(r *scheduler.Result) {
	f, ours := q.flight[r.Line.Item]
	if !ours || r.Line.Claim != q.job.Claim {
		return
	}
	delete(q.flight, r.Line.Item)
	if q.ending != nil {
		if r.Outcome == scheduler.OutcomeSucceeded {
			q.books.Answer(*r)
		} else {
			q.books.Drop(r.Line.Item)
		}
		return
	}
	switch fate, tries := q.books.Answer(*r); fate {
	case scheduler.ItemAgain:
		q.again.add(f.line)
	case scheduler.ItemFailed:
		if q.h.outbox.failed([]scheduler.FailedItem{{Claim: q.job.Claim, Item: r.Line.Item, Line: r.Line.Args, Tries: tries, ExitCode: r.ExitCode, Error: r.Told()}}) {
			q.h.tell(roleLedger, flush)
		}
	}
}

// onUnplaced takes back items that no child has seen.
func (q *msq) onUnplaced(lines []scheduler.Line) {
	for _, l := range lines {
		if f, ours := q.flight[l.Item]; ours && l.Claim == q.job.Claim {
			delete(q.flight, l.Item)
			q.again.add(f.line)
		}
	}
}

// onArrived: a host's actor died, and another is there. Processes of its
// children have answered for what they had in hand; what the dead one itself
// held, or was on its way to it, would never come back, so it is tried again.
func (q *msq) onArrived(m *arrived) {
	var lines []scheduler.Line
	for _, f := range q.flight {
		if f.host == m.Host && !m.At.Equal(f.to) {
			lines = append(lines, f.line)
		}
	}
	q.onUnplaced(lines)
}

// onNowhere fails the items that name a place to which no host answers. Trying
// them again would not help; once somebody answers, `retry` does.
func (q *msq) onNowhere(m *nowhere) {
	if q.ending != nil {
		return
	}
	var failed []scheduler.FailedItem
	for _, place := range m.Places {
		for _, l := range append(q.again.take(place), q.waiting.take(place)...) {
			q.books.Refuse(l)
			failed = append(failed, scheduler.FailedItem{Claim: q.job.Claim, Item: l.Item, Line: l.Args,
				Error: "no_host: no host of this instance answers to run_on " + place})
		}
	}
	if len(failed) > 0 && q.h.outbox.failed(failed) {
		q.h.tell(roleLedger, flush)
	}
}
