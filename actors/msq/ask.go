package msq

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// needs is what the items need that children have.
func (q *msq) needs() (all lock.Set) {
	for item := range q.inFlight {
		if set := q.locks.order.Locks(item); !set.Empty() && !all.Covers(set) {
			all = all.Merge(set)
		}
	}
	return all
}

// askLocks asks for the locks of items for which there are slots, and gives back those that no item needs.
func (q *msq) askLocks(c actor.Context) {
	k := q.locks
	if k.asking || k.failed || q.ending != nil {
		return
	}
	ask := lock.ItemsAsk{Job: lock.ID(q.job.Claim.Job), Keep: q.needs()}
	for _, s := range k.slots {
		ask.Most += s.Now + s.Spawn
	}
	var asked []int64
	if ask.Most > 0 {
		for _, l := range k.fitting(k.slots, itemsAsked) {
			asked = append(asked, l.Item)
			ask.Want = append(ask.Want, k.order.Locks(l.Item))
		}
	}
	if len(ask.Want) == 0 && !k.looks {
		idle := !k.surely || !ask.Keep.Covers(k.has)
		if idle && k.able.n > 0 && !k.lingered {
			if k.linger == nil {
				k.linger = q.Later(c.Self(), lockLinger, &itemLinger{})
			}
			return
		}
		if !idle {
			return
		}
	}
	queued := k.inLine != 0 && !slices.Contains(asked, k.inLine)
	ask.InLine = queued
	if !queued {
		k.tried = true
	}
	m := &itemLocked{asked: asked, queued: queued, looks: k.looks, own: k.own}
	k.asking, k.lingered, k.looks, k.has, k.surely = true, false, false, ask.Keep, false
	h, ctx, self, job := q.Ports, q.ctx, c.Self(), q.job.Claim
	go func() {
		m.answer, m.err = h.askLocks(ctx, job, ask, &m.own)
		h.Send(self, m)
	}()
}

// askLocks asks the desk; own is found out when it is not known.
func (h Ports) askLocks(ctx context.Context, job scheduler.Claim, ask lock.ItemsAsk, own **lock.Set) (
	a lock.ItemsAnswer, err error,
) {
	if h.Desk == nil { // there is no other job
		return lock.AnyLevel.AnswerItems(ask, nil, nil), nil
	}
	if *own == nil {
		set, err := h.Desk.OwnLocks(ctx, h.ID(), job)
		if err != nil {
			return a, err
		}
		*own = &set
	}
	ask.Own = **own
	return h.Desk.AskForItems(ctx, h.ID(), job, ask)
}

func (q *msq) onItemLocked(m *itemLocked, now time.Time) {
	k := q.locks
	k.asking, k.own = false, m.own
	if k.said.News(m.err) && q.ctx.Err() == nil {
		q.Log.Warn("msq: cannot ask for what items need; it is tried again each second",
			tree.Traced(q.job.Trace, "job", q.job.Claim.Job, "error", m.err)...)
	}
	got := m.answer.Got
	if m.err == nil {
		k.has, k.surely = m.answer.Has, true
		if !k.has.Empty() && !k.noted { // before it is used: its end has to be told
			k.noted = true
			q.Tell(message.RoleDispatcher, &message.LockedNow{Claim: q.job.Claim})
		}
		q.letRest(m, now)
	} else {
		k.refused = now
		got, k.failed, k.why = nil, true, "the database, which cannot be asked which jobs hold locks"
		k.sort()
	}
	first := int64(0)
	for i, yes := range got {
		if yes {
			continue
		}
		item := m.asked[i]
		l, there := k.able.find(item)
		if there {
			k.able.remove(l)
		}
		if first == 0 {
			first, k.refused = item, now
			if there && m.answer.Cycle != "" {
				q.failLocked(l, "deadlock: "+m.answer.Cycle)
				continue
			}
		}
		if there {
			k.hindered = append(k.hindered, l)
		}
	}
	if m.err == nil && !m.queued {
		k.inLine = first
		if m.answer.Cycle != "" { // that one waits no more
			k.inLine = 0
		}
	}
	if m.answer.Why != "" && (!m.queued || k.why == "") {
		k.why = m.answer.Why
	}
}

// letRest notes the sets that items let go first.
func (q *msq) letRest(m *itemLocked, now time.Time) {
	k := q.locks
	before := len(k.rests)
	for _, set := range m.answer.Before {
		known := func(r rest) bool { return r.set.Covers(set) && set.Covers(r.set) }
		if m.looks && len(k.rests) < restsMost && !slices.ContainsFunc(k.rests, known) {
			k.rests = append(k.rests, rest{set: set})
		}
	}
	if len(k.rests) > before {
		k.why = "other jobs, which have waited for what its items had"
		k.sort()
	}
	for i := range k.rests {
		if is, _ := lock.Conflicts(k.has, k.rests[i].set); !is && k.rests[i].until.IsZero() {
			k.rests[i].until = now.Add(lockRest)
		}
	}
}

// tryItems tries again for those that are hindered.
func (q *msq) tryItems(now time.Time) {
	k := q.locks
	k.rests = slices.DeleteFunc(k.rests, func(r rest) bool { return !r.until.IsZero() && !now.Before(r.until) })
	if len(k.hindered) > 0 {
		k.sort()
	}
}

func (q *msq) onItemTick(now time.Time) {
	k := q.locks
	k.tick, k.failed = nil, false
	// An item that gets no slot keeps no other job from a lock.
	if k.inLine != 0 && !k.tried {
		k.inLine, k.surely = 0, false
	}
	k.tried = false
	k.looks = !k.has.Empty()
	q.tryItems(now)
}
