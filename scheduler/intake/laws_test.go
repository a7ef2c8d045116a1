package intake

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/scheduler"
)

// credits of one host under one epoch, as the world counts them.
type credits struct {
	epoch   uint64
	now     map[scheduler.TypeName]int // offered, and neither reserved nor used
	room    int
	foreign bool // something of an earlier epoch was paid with them
}

// world is what an Intake talks to: hosts, a queue, and MSQ jobs.
type world struct {
	*rapid.T
	in      *Intake
	at      time.Time
	hosts   map[scheduler.HostName]*credits
	claim   *Claim // under way
	running map[scheduler.JobID]scheduler.Job
	waits   map[scheduler.JobID]int
	grants  []Grant // not used up
	control scheduler.ControlState
	leaving bool
	jobs    scheduler.JobID
	locks   bool // some job may ask for locks
}

var lawTypes = []scheduler.TypeName{"a", "alone", "b", "command", "dummy"}

func newWorld(t *rapid.T) *world {
	cfg := Config{Types: lawTypes, ExclusiveAfter: time.Second, Cursors: 3, RowType: "b"}
	if rapid.Bool().Draw(t, "exclusive") {
		cfg.Exclusive = []scheduler.TypeName{"alone"}
	}
	cfg.Warm = rapid.Bool().Draw(t, "warm")
	if rapid.IntRange(0, 3).Draw(t, "templates") == 0 {
		cfg.Locked = []scheduler.TypeName{"b"}
	}
	w := &world{T: t, at: time.Unix(1000, 0), hosts: map[scheduler.HostName]*credits{},
		running: map[scheduler.JobID]scheduler.Job{}, waits: map[scheduler.JobID]int{}}
	for _, name := range []scheduler.HostName{"x", "y", "z"}[:rapid.IntRange(1, 3).Draw(t, "hosts")] {
		cfg.Hosts = append(cfg.Hosts, Host{Locality: scheduler.Locality{Host: name}})
		w.hosts[name] = &credits{now: map[scheduler.TypeName]int{}}
	}
	w.in, w.locks = New(cfg), len(cfg.Locked) > 0
	return w
}

func (w *world) host() scheduler.HostName {
	return rapid.SampledFrom(w.in.locality.hosts).Draw(w.T, "host").Host
}

func (w *world) some(label string, most int) map[scheduler.TypeName]int {
	m := map[scheduler.TypeName]int{}
	for _, t := range lawTypes {
		if n := rapid.IntRange(0, most).Draw(w.T, label+" "+string(t)); n > 0 {
			m[t] = n
		}
	}
	return m
}

func (w *world) happened(ev Event) { w.check(w.in.Apply(ev, w.at)) }

func (w *world) offer() {
	name := w.host()
	c := w.hosts[name]
	ev := Offered{Host: name, Now: w.some("now", 2), Room: rapid.IntRange(0, 2).Draw(w.T, "room")}
	if rapid.Bool().Draw(w.T, "spawn told") {
		ev.Spawn = w.some("spawn", 2)
	}
	if rapid.IntRange(0, 3).Draw(w.T, "making") == 0 {
		ev.PreemptingFor = []scheduler.TypeName{"b"}
	}
	if c.epoch == 0 || rapid.IntRange(0, 4).Draw(w.T, "anew") == 0 {
		*c = credits{epoch: c.epoch + 1, now: map[scheduler.TypeName]int{}}
	}
	ev.Epoch = c.epoch
	for t, n := range ev.Now {
		c.now[t] += n
	}
	c.room += ev.Room
	w.happened(ev)
}

// answer brings what a claim could: of each type up to what was asked for, some
// of it MSQ jobs, some not to be started.
func (w *world) answer() {
	claim := *w.claim
	w.claim = nil
	ev := Claimed{Claim: claim, Refused: map[scheduler.TypeName]int{}}
	ev.Failed = rapid.IntRange(0, 9).Draw(w.T, "failed") == 0
	left, used := claim.Demand.Total, map[scheduler.TypeName]int{}
	for _, t := range claim.Demand.Types {
		for range min(left, rapid.IntRange(0, t.Limit).Draw(w.T, "brought")) {
			left--
			if claim.Probe || rapid.IntRange(0, 9).Draw(w.T, "refused") == 0 {
				ev.Refused[t.Type]++
				continue
			}
			w.jobs++
			j := scheduler.Job{Type: t.Type, Host: claim.Demand.Host}
			j.Claim = scheduler.Claim{Job: w.jobs, Fence: 1}
			j.Priority = rapid.IntRange(-2, 2).Draw(w.T, "priority")
			if claim.Demand.MSQ && rapid.IntRange(0, 2).Draw(w.T, "msq") == 0 {
				j.MSQ = "q"
			} else {
				used[t.Type]++
			}
			ev.Jobs = append(ev.Jobs, j)
			w.running[w.jobs] = j
		}
	}
	if c := w.hosts[claim.Demand.Host]; c != nil && !claim.Probe {
		c.foreign = c.foreign || c.epoch != claim.Epoch && len(used) > 0
		back := c.epoch == claim.Epoch
		if claim.Demand.Assigned && back {
			c.room += claim.Demand.Total
			for _, n := range used {
				c.room -= n
			}
		} else if back {
			for _, t := range claim.Demand.Types {
				c.now[t.Type] += t.Limit - used[t.Type]
			}
		}
	}
	w.happened(ev)
}

// check looks at a step, and at the books.
func (w *world) check(s Step) {
	w.T.Helper()
	for _, g := range s.Grants {
		w.checkGrant(g)
	}
	if s.Claim != nil {
		w.checkClaim(s.Claim)
	}
	for name, c := range w.hosts {
		got := w.in.capacities[name]
		if got == nil {
			continue
		}
		if got.room < 0 || got.room > c.room || got.room != c.room && !c.foreign {
			w.Fatalf("law 1: %s has room for %d, of what it offered %d are left", name, got.room, c.room)
		}
		for _, t := range lawTypes {
			if n := got.now[t]; n < 0 || n > c.now[t] || n != c.now[t] && !c.foreign {
				w.Fatalf("law 1: %s has %d credits of %s, of what it offered %d are left", name, n, t, c.now[t])
			}
		}
	}
}

func (w *world) checkGrant(g Grant) {
	w.T.Helper()
	job, runs := w.running[g.Job]
	c := w.hosts[g.Host]
	c.now[job.Type] -= g.Now
	c.room -= g.Spawn
	w.waits[g.Job] -= g.Now + g.Spawn
	if !runs || w.waits[g.Job] < 0 || g.Now < 0 || g.Spawn < 0 || g.Epoch != c.epoch {
		w.Fatalf("law 6: a grant to job %d: %+v", g.Job, g)
	}
	if w.control.Pauses(job.Type) {
		w.Fatalf("a grant to a paused type: %+v", g)
	}
	w.grants = append(w.grants, g)
	for id, other := range w.running {
		if q := w.in.msqs[id]; q != nil && other.Type == job.Type && other.Priority < job.Priority && q.waiting > 0 {
			w.Fatalf("law 5: job %d was granted something, and %d, more urgent, has %d waiting", g.Job, id, q.waiting)
		}
	}
}

func (w *world) checkClaim(claim *Claim) {
	w.T.Helper()
	d := claim.Demand
	if w.claim != nil || w.leaving {
		w.Fatalf("a claim while another is under way, or (law 6) when nothing more is to be claimed")
	}
	w.claim = claim
	sum, exclusive := 0, 0
	for _, t := range d.Types {
		sum += t.Limit
		if slices.Contains(w.in.Exclusive, t.Type) {
			exclusive++
		}
		if !d.Locked && slices.Contains(w.in.Locked, t.Type) {
			w.Fatalf("law 7: %s, whose jobs have locks, is claimed without: %+v", t.Type, d)
		}
		if t.Type == "command" || t.Type == "dummy" || t.Limit <= 0 {
			w.Fatalf("law 4: %+v", d)
		}
		for id, q := range w.in.msqs {
			if !claim.Probe && q.job.Type == t.Type && q.waiting > 0 && t.MaxPriority > q.job.Priority {
				w.Fatalf("law 5: jobs up to %d are asked for before the items of %d of %d", t.MaxPriority, id, q.job.Priority)
			}
		}
		if !claim.Probe && w.control.Pauses(t.Type) {
			w.Fatalf("a paused type is asked for: %+v", d)
		}
	}
	if d.Locked && !w.locks {
		w.Fatalf("law 7: a pass, and no job has locks: %+v", d)
	}
	if claim.Probe || d.Locked && len(d.Types) == 0 && d.Total == 0 { // locks are handed on to other instances
		return
	}
	if len(d.Types) == 0 || d.Total <= 0 || d.Total > sum {
		w.Fatalf("a claim for nothing: %+v", d)
	}
	if exclusive > 0 && (len(w.running) > 0 || d.Total != 1 || len(d.Types) != 1) {
		w.Fatalf("law 3: beside %d others %+v", len(w.running), d)
	}
	for _, j := range w.running {
		if slices.Contains(w.in.Exclusive, j.Type) {
			w.Fatalf("law 3: beside job %d of %s: %+v", j.Claim.Job, j.Type, d)
		}
	}
	c := w.hosts[d.Host]
	if d.Assigned {
		c.room -= d.Total
		return
	}
	for _, t := range d.Types {
		c.now[t.Type] -= t.Limit
	}
}

func (w *world) next() {
	w.at = w.at.Add(time.Duration(rapid.IntRange(0, 700).Draw(w.T, "ms")) * time.Millisecond)
	can := Can{Grant: true, Claim: w.claim == nil, Claiming: w.claim != nil, Attached: true, Running: len(w.running)}
	w.check(w.in.Next(can, w.at))
}

func (w *world) anyJob() (j scheduler.Job, some bool) {
	ids := make([]scheduler.JobID, 0, len(w.running))
	for id := range w.running {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return j, false
	}
	slices.Sort(ids)
	return w.running[rapid.SampledFrom(ids).Draw(w.T, "job")], true
}

// step makes something happen that can.
func (w *world) step() {
	switch rapid.IntRange(0, 9).Draw(w.T, "what") {
	case 0, 1:
		w.offer()
	case 2:
		w.happened(Woken{Rang: true, Scan: rapid.Bool().Draw(w.T, "scan")})
	case 3:
		if w.claim != nil {
			w.answer()
		}
	case 4, 5: // a job tells of its items
		if j, some := w.anyJob(); some && j.MSQ != "" {
			w.waits[j.Claim.Job] = rapid.IntRange(0, 5).Draw(w.T, "items")
			w.happened(MSQWaits{Claim: j.Claim, Waiting: w.waits[j.Claim.Job]})
		}
	case 6: // or ends
		if j, some := w.anyJob(); some {
			delete(w.running, j.Claim.Job)
			delete(w.waits, j.Claim.Job)
			if j.MSQ != "" {
				w.happened(MSQEnded{Job: j.Claim.Job})
			}
		}
	case 7: // what was granted comes back
		if len(w.grants) > 0 {
			g := w.grants[0]
			w.grants = w.grants[1:]
			j, runs := w.running[g.Job]
			if !runs {
				break
			}
			t := j.Type
			if c := w.hosts[g.Host]; c.epoch == g.Epoch {
				c.now[t] += g.Now
				c.room += g.Spawn
			}
			w.happened(Refunded{Host: g.Host, Epoch: g.Epoch, Type: t, Now: g.Now, Spawn: g.Spawn})
		}
	case 8:
		w.control.Paused = nil
		if rapid.IntRange(0, 2).Draw(w.T, "pause") == 0 {
			w.control.Paused = []scheduler.TypeName{rapid.SampledFrom([]scheduler.TypeName{"a", "b", ""}).Draw(w.T, "type")}
		}
		if rapid.IntRange(0, 3).Draw(w.T, "some have locks") == 0 {
			w.control.Locks = !w.control.Locks
		}
		w.happened(Controlled{State: w.control})
		w.locks = w.locks || w.control.Locks
		if !w.control.Locks && len(w.in.Locked) == 0 { // found twice: there are none
			w.happened(Controlled{State: w.control})
			w.locks = false
		}
	case 9:
		if rapid.Bool().Draw(w.T, "locks rang") {
			w.locks = true
			w.happened(LocksWoken{})
			break
		}
		if rapid.IntRange(0, 30).Draw(w.T, "leave") == 0 {
			w.leaving = true
			w.happened(Leaving{})
		}
	}
	w.next()
}

// Laws:
//  1. a credit is promised once: what was offered is what is left, reserved,
//     granted or used, and nothing is ever negative;
//  3. nothing exclusive runs beside anything;
//  4. commands and dummies are in no demand;
//  5. the items of a more urgent MSQ job go first, and jobs that are less urgent
//     than items of their type are not asked for;
//  7. jobs with locks are claimed by passes alone, and there are none of these while no job has locks;
//  6. when this instance leaves, nothing is claimed, and only MSQ jobs that run
//     are granted anything.
func TestIntake_Laws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range 150 {
			w.step()
		}
	})
}
