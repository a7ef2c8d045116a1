package lock

// queue is groups of one lane that were set aside for the same lock. If each wants
// it exclusively, only the first is looked at when it is free, with the others behind
// it: starts it, they wait for it in turn, unseen. So a lock that thousands wait for
// passes from one to the next without a look at all of them.
type queue struct {
	lane   *lane
	want   Want
	places heap[place]
}

// oneByOne says that no two groups of the queue can run at the same time.
func (q *queue) oneByOne() bool {
	return q.want.Big || q.want.Mode == Exclusive && q.want.Scope != Unknown
}

// setAside lets a group wait for the job that keeps it from what it wants.
func (b *backlog) setAside(g *group, by ID, want Want) {
	behind := g.behind
	g.behind = nil
	q := b.queueFor(by, g.lane, want)
	g.stamp++
	q.places.push(place{g, g.first(), g.stamp})
	switch {
	case behind == nil:
	case behind.want != want: // they might have what it has not
		b.advance(behind)
	default: // the holder of the lock keeps them from it, too
		if len(q.places.list) < len(behind.places.list) {
			q.places, behind.places = behind.places, q.places
		}
		for _, p := range behind.places.list {
			q.places.push(p)
		}
	}
}

// queueFor is the queue at a job for a lock.
func (b *backlog) queueFor(by ID, l *lane, want Want) *queue {
	for _, q := range b.aside[by] {
		if q.lane == l && q.want == want {
			return q
		}
	}
	q := &queue{lane: l, want: want, places: heap[place]{less: l.before}}
	b.aside[by] = append(b.aside[by], q)
	return q
}

// advance puts the first group of a queue into its lane, the others behind it.
func (b *backlog) advance(q *queue) {
	for len(q.places.list) > 0 {
		p := q.places.pop()
		if p.stamp != p.g.stamp {
			continue // it is elsewhere
		}
		first := p.g.first()
		switch {
		case first == nil:
			b.drop(p.g)
		case first != p.first: // another is its first now
			p.g.stamp++
			q.places.push(place{p.g, first, p.g.stamp})
		default:
			if len(q.places.list) > 0 {
				p.g.behind = q
			}
			b.enter(p.g, first)
			return
		}
	}
}

// enqueue puts a group into its lane, under its first job; or, if one of those
// behind it comes before it by now, that one.
func (b *backlog) enqueue(g *group) {
	first, behind := g.first(), g.behind
	switch {
	case behind != nil:
		g.behind = nil
		g.stamp++
		if first == nil {
			b.drop(g)
		} else {
			behind.places.push(place{g, first, g.stamp})
		}
		b.advance(behind)
	case first == nil:
		b.drop(g)
	default:
		b.enter(g, first)
	}
}

func (b *backlog) enter(g *group, first *waiting) {
	g.stamp++
	g.lane.push(place{g, first, g.stamp})
}

// drop forgets a group that has no job left.
func (b *backlog) drop(g *group) {
	if b.groups[g.key] == g {
		delete(b.groups, g.key)
	}
}

// started tells that a group's first job runs: groups behind it wait for that job.
func (b *backlog) started(g *group, id ID) {
	if g.behind != nil {
		b.aside[id] = append(b.aside[id], g.behind)
		g.behind = nil
	}
}

// end tells that a job no longer runs: the groups that it kept from starting are looked at again.
func (b *backlog) end(id ID) {
	b.changes++
	b.running.Remove(id)
	queues := b.aside[id]
	delete(b.aside, id)
	for _, q := range queues {
		if q.oneByOne() {
			b.advance(q)
			continue
		}
		for _, p := range q.places.list {
			if p.stamp == p.g.stamp {
				b.enqueue(p.g)
			}
		}
	}
}
