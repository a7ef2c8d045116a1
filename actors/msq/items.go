package msq

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

func (q *msq) onGrant(m *message.Grant) {
	now, spawn, to := m.Now, m.Spawn, q.PID(message.RoleHost(m.Host))
	if q.locks != nil {
		left := *m
		q.grantLocked(&left, to)
		now, spawn = left.Now, left.Spawn
	}
	var lines []scheduler.Line
	for now+spawn > 0 && q.wanting() > 0 && q.ending == nil && q.broken == nil {
		l, ok := q.pop(m.Names)
		if !ok { // what was left is not for this host
			break
		}
		if l.Assigned = now <= 0; l.Assigned {
			spawn--
		} else {
			now--
		}
		q.inFlight[l.Item] = inFlight{l, m.Host, to}
		lines = append(lines, l)
	}
	if len(lines) > 0 {
		if to != nil {
			q.Send(to, &message.Deal{Epoch: m.Epoch, Type: q.job.Type, Lines: lines})
		}
	}
	if now+spawn > 0 {
		q.Tell(message.RoleDispatcher, &message.Refund{Host: m.Host, Type: q.job.Type, Epoch: m.Epoch, Now: now,
			Spawn: spawn})
	}
	if q.told -= m.Now + m.Spawn; q.toldAt != nil {
		q.told = -1 // it cannot know which ones we took
	}
}

// waits tells which items wait while none of their place runs, by the name that
// they have in run_on ("": none), when that was so the last time too. It stands
// in waiting_for of the job, for bellhop.explanation.
func (q *msq) waits(now time.Time) string {
	if why := q.waitsForLocks(now); why != "" {
		q.stuck = nil
		return why
	}
	at := q.places()
	if at == nil {
		at = map[string]int{}
	}
	at[""] = len(q.retries.any) + len(q.waiting.any)
	if q.locks != nil {
		at[""] += len(q.locks.able.any)
	}
	for _, f := range q.inFlight {
		delete(at, f.line.RunOn)
	}
	was, told := q.stuck, []string{}
	q.stuck = map[string]time.Time{}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		if at[name] == 0 {
			continue
		}
		since, again := was[name]
		if !again {
			since = now
		} else {
			told = append(told, fmt.Sprintf("%d for %s since %s", at[name], cmp.Or(name, "any host"),
				since.UTC().Format("2006-01-02T15:04:05.000Z")))
		}
		q.stuck[name] = since
	}
	if len(told) == 0 {
		return ""
	}
	return "items_wait: " + strings.Join(told, ", ")
}

// wanting is how many items want a child.
func (q *msq) wanting() int {
	n := q.retries.n + q.waiting.n
	if q.locks != nil {
		n += q.locks.wanting()
	}
	return n
}

// places is how many of them name which place; nil: none names any.
func (q *msq) places() map[string]int {
	at := q.waiting.count(q.retries.count(nil))
	if q.locks != nil {
		at = q.locks.able.count(at)
	}
	return at
}

func (q *msq) pop(places []string) (scheduler.Line, bool) {
	if l, ok := q.retries.next(places); ok {
		return l, true
	}
	return q.waiting.next(places)
}

// forget drops the items that no child has.
func (q *msq) forget() {
	drop := func(l scheduler.Line) { q.books.Drop(l.Item) }
	q.retries.each(drop)
	q.waiting.each(drop)
	q.retries, q.waiting = itemPool{}, itemPool{}
	if q.locks != nil {
		q.forgetLocked()
	}
}

func (q *msq) onAnswer(r *scheduler.Result) {
	f, ours := q.inFlight[r.Line.Item]
	if !ours || r.Line.Claim != q.job.Claim {
		return
	}
	delete(q.inFlight, r.Line.Item)
	if q.ending != nil {
		if r.Outcome == scheduler.OutcomeSucceeded {
			q.books.Answer(*r)
		} else {
			q.books.Drop(r.Line.Item)
		}
		return
	}
	fate, tries := q.books.Answer(*r)
	if q.locks != nil && fate != scheduler.ItemRetry {
		q.locks.over(r.Line.Item)
	}
	switch fate {
	case scheduler.ItemRetry:
		q.again(f.line)
	case scheduler.ItemFailed:
		q.Outbox.Failed(scheduler.FailedItem{
			Claim: q.job.Claim, Item: r.Line.Item, Line: r.Line.Args, Tries: tries, ExitCode: r.ExitCode, Error: r.Told(),
		})
	}
}

// onReturned takes back items that no child has seen.
func (q *msq) onReturned(lines []scheduler.Line) {
	for _, l := range lines {
		if f, ours := q.inFlight[l.Item]; ours && l.Claim == q.job.Claim {
			delete(q.inFlight, l.Item)
			q.again(f.line)
		}
	}
}

// again takes back an item that is to be tried again.
func (q *msq) again(l scheduler.Line) {
	if !q.locks.again(l) {
		q.retries.add(l)
	}
}

// onHostRestarted: a host's actor died, and another is there. Processes of its
// children have answered for what they had in hand; what the dead one itself
// held, or was on its way to it, would never come back, so it is tried again.
func (q *msq) onHostRestarted(m *message.HostRestarted) {
	if q.locks != nil { // what it granted is granted no more
		q.locks.slots = slices.DeleteFunc(q.locks.slots, func(s slots) bool { return s.Host == m.Host && !m.At.Equal(s.to) })
	}
	var lines []scheduler.Line
	for _, f := range q.inFlight {
		if f.host == m.Host && !m.At.Equal(f.to) {
			lines = append(lines, f.line)
		}
	}
	q.onReturned(lines)
}

// onNowhere fails the items that name a place to which no host answers. Trying them again would not help; once a
// host answers, `retry` does.
func (q *msq) onNowhere(m *message.Nowhere) {
	if q.ending != nil {
		return
	}
	var failed []scheduler.FailedItem
	for _, name := range m.Names {
		list := append(q.retries.take(name), q.waiting.take(name)...)
		if q.locks != nil {
			list = append(list, q.locks.able.take(name)...)
		}
		for _, l := range list {
			q.books.Refuse(l)
			if q.locks != nil {
				q.locks.over(l.Item)
			}
			failed = append(failed, scheduler.FailedItem{Claim: q.job.Claim, Item: l.Item, Line: l.Args,
				Error: "no_host: no host of this instance answers to run_on " + name})
		}
	}
	if len(failed) > 0 {
		q.Outbox.Failed(failed...)
	}
}
