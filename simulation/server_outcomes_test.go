package simulation

import (
	"slices"
	"time"

	"bellhop/scheduler"
)

// written is what Records.Write says.
type written struct {
	stale    []scheduler.Claim
	released bool
}

// write is Recorder.Write: the statements of a batch, in one transaction.
func (s *server) write(me scheduler.InstanceID, b scheduler.Batch) (w written) {
	for _, kind := range []scheduler.RecordKind{scheduler.RecordStart, scheduler.RecordRequeue, scheduler.RecordSettle} {
		for i := range b.Records {
			r := &b.Records[i]
			if r.Kind != kind {
				continue
			}
			j, there := s.rows[r.Claim.Job]
			ours := there && j.held() && (j.fence == r.Claim.Fence || s.without == fenceInOutcome) &&
				(j.instance == me || s.without == fenceInOutcome)
			switch {
			case ours:
				w.released = s.record(j, r) || w.released
			case b.MaybeCommitted && s.already(me, r, b.Records): // an earlier try has written it
			case !slices.Contains(w.stale, r.Claim):
				w.stale = append(w.stale, r.Claim)
			}
		}
	}
	return w
}

// record is start.sql, requeue.sql and settle*.sql.
func (s *server) record(j row, r *scheduler.Record) (released bool) {
	now := s.clock()
	switch r.Kind {
	case scheduler.RecordStart:
		j.state = scheduler.Running
	case scheduler.RecordRequeue:
		if r.Verdict.Delay > 0 {
			j.runAt = now.Add(r.Verdict.Delay)
		}
		if r.Lost != "" {
			j.lost++
		}
		j = s.freed(j, r.Verdict.Delay > 0)
	case scheduler.RecordSettle:
		v := r.Verdict
		if j.state = v.State; v.State == scheduler.Scheduled {
			j.runAt = now.Add(v.Delay)
		}
		if j.stopping && (v.State == scheduler.Scheduled || v.State == scheduler.Ready) {
			j.state = scheduler.Cancelled
		}
		if v.Death {
			j.deaths++
		}
		if !r.Plain() {
			j.past = append(slices.Clone(j.past), j.fence)
		}
	}
	s.set(j)
	return j.state.Final() && s.ended(j)
}

// freed is a job whose claim is undone: that was no attempt.
func (s *server) freed(j row, rests bool) row {
	switch j.state = scheduler.Ready; {
	case j.stopping:
		j.state = scheduler.Cancelled
	case rests:
		j.state = scheduler.Scheduled
	}
	j.attempt, j.instance = j.attempt-1, 0
	return j
}

// ended is bellhop.ended(): jobs that waited for this one are ready, or fail with it.
func (s *server) ended(j row) (released bool) {
	for _, d := range s.sorted() {
		if d.needs != j.id || d.state != scheduler.Blocked {
			continue
		}
		switch d.state = scheduler.Ready; {
		case j.state != scheduler.Succeeded:
			d.state = scheduler.Failed
		case d.runAt.After(s.clock()):
			d.state = scheduler.Scheduled
		default:
			released = true
		}
		s.set(d)
		if d.state == scheduler.Failed {
			released = s.ended(d) || released
		}
	}
	if released {
		s.notify(readied, 0)
	}
	return released
}

// already is settled_already.sql and what the recorder makes of it.
func (s *server) already(me scheduler.InstanceID, r *scheduler.Record, all []scheduler.Record) bool {
	back := func(o scheduler.Record) bool { return o.Kind == scheduler.RecordRequeue && o.Claim == r.Claim }
	if slices.ContainsFunc(all, back) {
		return true // it may belong to another instance by now
	}
	j, there := s.rows[r.Claim.Job]
	if !there {
		return false
	}
	if slices.Contains(j.past, r.Claim.Fence) {
		return true
	}
	if j.fence != r.Claim.Fence {
		return false
	}
	if j.held() {
		return j.instance == me && j.state == scheduler.Running && r.Kind == scheduler.RecordStart
	}
	return j.instance == me || j.instance == 0 &&
		(j.state == scheduler.Ready || j.state == scheduler.Cancelled || j.state == scheduler.Failed)
}

// due is due.sql: how many jobs the clock has made ready, and when it makes the next one so.
func (s *server) due() (d dueAnswer) {
	d.next = -1
	for _, j := range s.sorted() {
		if j.state != scheduler.Scheduled {
			continue
		}
		if left := j.runAt.Sub(s.clock()); left > 0 {
			if d.next < 0 || left < d.next {
				d.next = left
			}
			continue
		}
		j.state = scheduler.Ready
		s.set(j)
		d.n++
	}
	return d
}

type dueAnswer struct {
	n    int
	next time.Duration
}

// strays is orphaned_claims.sql: claims of instances that do not live.
func (s *server) strays() (n int) {
	var most scheduler.InstanceID
	for id := range s.members {
		most = max(most, id)
	}
	for _, j := range s.sorted() {
		if j.held() && !s.members[j.instance].live && j.instance <= most {
			s.takeBack(j)
			n++
		}
	}
	return n
}

// takeBack frees a job of an instance that is gone.
func (s *server) takeBack(j row) {
	if j.state == scheduler.Running {
		j.lost++
	}
	attempt := j.attempt
	if j = s.freed(j, false); s.without == lossIsNoAttempt {
		j.attempt = attempt
	}
	if s.set(j); j.state.Final() {
		s.ended(j)
	}
}

func (s *server) register(m member) scheduler.InstanceID {
	s.beginEra()
	m.ID, m.live, m.heartbeat = scheduler.InstanceID(s.next(1)), true, s.clock().Sub(s.began)
	put(s, s.members, m.ID, m)
	return m.ID
}

// beat is beat.sql.
func (s *server) beat(me scheduler.InstanceID) (b scheduler.Beat) {
	b.Server = s.beginEra().Server
	m := s.members[me]
	if !m.live {
		return scheduler.Beat{}
	}
	b.Was = s.began.Add(m.heartbeat)
	m.heartbeat = s.clock().Sub(s.began)
	b.At = s.began.Add(m.heartbeat)
	put(s, s.members, me, m)
	s.notify(beatRang, me)
	return b
}

// silent is what suspects.sql and mark_gone.sql say: on a promoted server, silence counts from the beginning of its
// era.
func (s *server) silent(m member) bool {
	return s.clock().Sub(s.began)-m.heartbeat > m.lag && (s.era.Floor == 0 || s.clock().Sub(s.eraBegan) > m.lag)
}

// suspects is suspects.sql.
func (s *server) suspects(me scheduler.InstanceID) (list []scheduler.Suspect) {
	for _, m := range s.living() {
		if m.Silent = s.silent(m); m.ID != me {
			list = append(list, m.Suspect)
		}
	}
	return list
}

// burial is what Reaper.MarkGone says.
type burial struct {
	did  bool
	jobs int
}

// bury is mark_gone.sql.
func (s *server) bury(id scheduler.InstanceID, proven bool) (b burial) {
	m, there := s.members[id]
	if s.without != burialOnce && (!there || !m.live) ||
		!proven && !s.silent(m) {
		return burial{}
	}
	m.live = false
	put(s, s.members, id, m)
	delete(s.asserted, id)
	for _, j := range s.sorted() {
		if j.held() && (j.instance == id || s.without == burialOnce) {
			s.takeBack(j)
			b.jobs++
		}
	}
	b.did = true
	s.notify(dueRang, 0)
	s.notify(readied, 0)
	return b
}

// cancel is bellhop.cancel().
func (s *server) cancel(id scheduler.JobID) bool {
	j, there := s.rows[id]
	switch {
	case !there || j.state.Final():
		return false
	case j.state == scheduler.Running:
		j.stopping = true
		s.notify(cancelRang, 0)
	default:
		j.state, j.stopping = scheduler.Cancelled, true
	}
	if s.set(j); j.state.Final() {
		s.ended(j)
	}
	return true
}
