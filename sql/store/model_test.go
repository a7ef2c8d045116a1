package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/scheduler"
)

// modelled is what a job has to be, in the model.
type modelled struct {
	state    scheduler.JobState
	fence    scheduler.Fence
	attempt  int
	instance scheduler.InstanceID
	most     int
	deaths   int
	stopping bool // asked to stop
}

// model is the queue as the contract has it, beside the one in the database.
type model struct {
	*rapid.T
	o      *env
	ctx    context.Context
	jobs   map[scheduler.JobID]*modelled
	desks  [2]scheduler.InstanceID
	held   map[scheduler.Claim]scheduler.Job // every claim ever made, the stale ones too
	before map[scheduler.JobID]scheduler.JobState
}

func (m *model) exec(text string, args ...any) {
	if _, err := m.o.conn.Exec(m.ctx, text, args...); err != nil {
		m.Fatalf("%s: %v", text, err)
	}
}

// some picks a job.
func (m *model) some() (scheduler.JobID, *modelled) {
	if len(m.jobs) == 0 {
		m.Skip("no jobs")
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.jobs))).Draw(m.T, "job")
	return id, m.jobs[id]
}

func (m *model) desk() scheduler.InstanceID {
	return m.desks[rapid.IntRange(0, 1).Draw(m.T, "instance")]
}

// claims picks a claim that was made once.
func (m *model) claim() scheduler.Job {
	if len(m.held) == 0 {
		m.Skip("no claims")
	}
	list := slices.SortedFunc(maps.Keys(m.held), func(a, b scheduler.Claim) int {
		return int(a.Job-b.Job)*1000 + int(a.Fence-b.Fence)
	})
	return m.held[rapid.SampledFrom(list).Draw(m.T, "claim")]
}

// ours reports whether a write under a claim by an instance has to be taken.
func (m *model) ours(c scheduler.Claim, by scheduler.InstanceID) bool {
	j := m.jobs[c.Job]
	return j != nil && j.fence == c.Fence && j.instance == by &&
		(j.state == scheduler.Running || j.state == scheduler.Assigned)
}

// write records something under a claim, and checks that it is taken when, and only when, the claim holds.
func (m *model) write(c scheduler.Claim, by scheduler.InstanceID, records ...scheduler.Record) bool {
	stale, _, err := m.o.recorder.Write(m.ctx, by, scheduler.Batch{Records: records}, time.Now())
	if err != nil {
		m.Fatal(err)
	}
	if m.ours(c, by) != (len(stale) == 0) {
		m.Fatalf("claim %v by %d, the job is %+v: stale %v", c, by, *m.jobs[c.Job], stale)
	}
	return len(stale) == 0
}

func (m *model) submit(*rapid.T) {
	held, most := rapid.Bool().Draw(m.T, "held"), rapid.IntRange(1, 3).Draw(m.T, "attempts")
	id := m.o.insert("type, held, max_attempts", fmt.Sprintf("'cat', %v, %d", held, most))
	m.jobs[id] = &modelled{state: scheduler.Ready, most: most}
	if held {
		m.jobs[id].state = scheduler.Held
	}
}

func (m *model) take(*rapid.T) {
	by := m.desk()
	d := demand(rapid.IntRange(1, 5).Draw(m.T, "most"))
	d.Assigned = rapid.Bool().Draw(m.T, "assigned")
	var want []scheduler.JobID
	for _, id := range slices.Sorted(maps.Keys(m.jobs)) {
		if m.jobs[id].state == scheduler.Ready && len(want) < d.Total {
			want = append(want, id)
		}
	}
	jobs, err := m.o.claimer.Claim(m.ctx, by, d)
	if err != nil || !slices.Equal(ids(jobs), want) {
		m.Fatalf("claimed %v, want %v (%v)", ids(jobs), want, err)
	}
	for _, job := range jobs {
		j := m.jobs[job.Claim.Job]
		j.fence, j.attempt, j.instance, j.state = j.fence+1, j.attempt+1, by, scheduler.Running
		if d.Assigned {
			j.state = scheduler.Assigned
		}
		if job.Fence != j.fence || job.Attempt != j.attempt || job.Deaths != j.deaths || job.MaxAttempts != j.most ||
			job.Assigned != d.Assigned {
			m.Fatalf("claimed %+v, the model says %+v", job, *j)
		}
		m.held[job.Claim] = job
	}
}

func (m *model) start(*rapid.T) {
	c := m.claim().Claim
	if by := m.desk(); m.write(c, by, scheduler.Record{Kind: scheduler.RecordStart, Claim: c}) {
		m.jobs[c.Job].state = scheduler.Running
	}
}

func (m *model) giveBack(*rapid.T) {
	c := m.claim().Claim
	if by := m.desk(); m.write(c, by, scheduler.Record{Kind: scheduler.RecordRequeue, Claim: c}) {
		m.free(m.jobs[c.Job])
	}
}

// free undoes a claim.
func (m *model) free(j *modelled) {
	j.state, j.instance, j.attempt = scheduler.Ready, 0, j.attempt-1
	if j.stopping {
		j.state = scheduler.Cancelled
	}
}

func (m *model) end(*rapid.T) {
	job, by := m.claim(), m.desk()
	outcome := rapid.SampledFrom(
		[]scheduler.Outcome{scheduler.OutcomeSucceeded, scheduler.OutcomeFailed, scheduler.OutcomeDied,
			scheduler.OutcomeTimedOut, scheduler.OutcomeCancelled}).Draw(m.T, "outcome")
	v := scheduler.Judge(&scheduler.Result{Outcome: outcome, Line: &job.Line, ExitCode: 1}, scheduler.RetryPolicy{}, 0)
	records := []scheduler.Record{settle(job, scheduler.Result{Outcome: outcome, Child: "cat.1", Ended: time.Now()}, v)}
	if job.Assigned { // what was not running yet is started by the same batch
		records = append(records, scheduler.Record{Kind: scheduler.RecordStart, Claim: job.Claim})
	}
	if !m.write(job.Claim, by, records...) {
		return
	}
	j := m.jobs[job.Claim.Job]
	m.before[job.Claim.Job] = scheduler.Running
	j.state = v.State
	if v.State == scheduler.Scheduled && j.stopping {
		j.state = scheduler.Cancelled
	}
	if v.Death {
		j.deaths++
	}
}

func (m *model) due(*rapid.T) {
	n, next, err := m.o.maintenance.Due(m.ctx)
	want := 0
	for _, j := range m.jobs {
		if j.state == scheduler.Scheduled { // pauses are 0 here
			j.state = scheduler.Ready
			want++
		}
	}
	if err != nil || n != want || next >= 0 {
		m.Fatalf("%d due, want %d; next in %s (%v)", n, want, next, err)
	}
}

func (m *model) cancel(*rapid.T) {
	id, j := m.some()
	m.exec("select bellhop.cancel($1)", int64(id))
	switch {
	case j.state == scheduler.Running:
		j.stopping = true
	case !j.state.Final():
		j.state, j.stopping = scheduler.Cancelled, true
	}
}

func (m *model) release(*rapid.T) {
	id, j := m.some()
	m.exec("select bellhop.release($1)", int64(id))
	if j.state == scheduler.Held {
		j.state = scheduler.Ready
	}
}

func (m *model) retry(*rapid.T) {
	id, j := m.some()
	m.exec("select bellhop.retry($1)", int64(id))
	if j.state.Final() {
		*j = modelled{state: scheduler.Ready, fence: j.fence, attempt: j.attempt, most: max(j.most, j.attempt+1)}
	}
}

func (m *model) bury(*rapid.T) {
	i := rapid.IntRange(0, 1).Draw(m.T, "dead")
	want := 0
	for _, j := range m.jobs {
		if j.instance == m.desks[i] && (j.state == scheduler.Running || j.state == scheduler.Assigned) {
			m.free(j)
			want++
		}
	}
	did, n, err := m.o.registry.MarkGone(m.ctx, m.desks[i], "dead", true)
	if err != nil || !did || n != want {
		m.Fatalf("buried: %v, %d freed, want %d (%v)", did, n, want, err)
	}
	m.desks[i] = m.o.register("another", time.Hour)
}

// check compares the model with the database, job by job.
func (m *model) check(*rapid.T) {
	rows, err := m.o.conn.Query(m.ctx, `select id, state, fence, attempt, coalesce(instance, 0), max_attempts, deaths from bellhop.jobqueue`)
	if err != nil {
		m.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var id scheduler.JobID
		var got modelled
		if err := rows.Scan((*int64)(&id), (*string)(&got.state), (*int64)(&got.fence), &got.attempt, (*int64)(&got.instance),
			&got.most, &got.deaths); err != nil {
			m.Fatal(err)
		}
		want := *m.jobs[id]
		want.stopping = false
		if got.state.Final() || got.state == scheduler.Scheduled { // who held it last is kept, but means nothing
			got.instance, want.instance = 0, 0
		}
		if got != want {
			m.Fatalf("job %d is\n%+v, the model says\n%+v", id, got, want)
		}
		if was, known := m.before[id]; known && was != got.state && !was.CanBecome(got.state) {
			m.Fatalf("job %d went from %s to %s", id, was, got.state)
		}
		n++
	}
	if rows.Err() != nil || n != len(m.jobs) {
		m.Fatalf("%d rows, %d in the model (%v)", n, len(m.jobs), rows.Err())
	}
}

// Law: submit, claim, start, settle, give back, cancel, release, retry and the
// burial of either of two instances, in any order, stale writes among them,
// leave every job in the state, and under the fence, that the contract says,
// by moves that the state machine has.
func TestQueue_AgreesWithTheModel(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &model{
			T:    t,
			o:    e,
			ctx:  e.Context(),
			jobs: map[scheduler.JobID]*modelled{},
			held: map[scheduler.Claim]scheduler.Job{},
		}
		m.exec("truncate bellhop.jobqueue, bellhop.attempt_past, bellhop.log")
		m.desks = [2]scheduler.InstanceID{e.register("first", time.Hour), e.register("second", time.Hour)}
		remember := func() {
			m.before = map[scheduler.JobID]scheduler.JobState{}
			for id, j := range m.jobs {
				m.before[id] = j.state
			}
		}
		act := func(f func(*rapid.T)) func(*rapid.T) { return func(t *rapid.T) { remember(); f(t) } }
		t.Repeat(map[string]func(*rapid.T){
			"submit": act(
				m.submit), "claim": act(m.take), "claim more": act(m.take), "start": act(m.start), "give back": act(m.giveBack),
			"end": act(m.end), "end more": act(m.end), "due": act(m.due), "cancel": act(m.cancel), "release": act(m.release),
			"retry": act(m.retry), "bury": act(m.bury),
			"": m.check,
		})
	})
}
