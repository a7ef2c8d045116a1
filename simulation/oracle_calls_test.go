package simulation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

// calm is the lag that the instances promise here: PostgreSQL's clock is the real one, so no trace may last that long,
// and passes lets more than that go by.
const calm = 30 * time.Minute

func (o *oracle) register(desk int) {
	id, err := o.registry.Register(o.Context(), store.Instance{Name: fmt.Sprint("desk", desk), Hostname: "h",
		Machine: "m", Pid: 1,
		ProcessStart: "1", Version: "v", Lag: calm})
	if err != nil {
		o.fail("register: %v", err)
	}
	m := member{lag: calm, Suspect: scheduler.Suspect{Name: fmt.Sprint("desk", desk)}}
	o.same("register", id, run(o.model, true, func(s *server) scheduler.InstanceID { return s.register(m) }))
	o.ids[desk] = id
}

func (o *oracle) submit() {
	j := row{name: "x", most: 1 + o.dice.IntN(3)}
	needs := "null"
	if n := len(o.model.rows); n > 0 && o.dice.IntN(3) == 0 {
		j.needs = o.model.sorted()[o.dice.IntN(n)].id
		needs = fmt.Sprintf("array[%d]::bigint[]", j.needs)
	}
	id := o.number("select bellhop.submit('work', 'x', max_attempts => $1, after => "+needs+")", j.most)
	o.same("submit", id, run(o.model, true, func(s *server) int64 {
		j.id = scheduler.JobID(s.next(0))
		s.submit(j)
		return int64(j.id)
	}))
	var created time.Time
	row := o.conn.QueryRow(o.Context(), "select created_at from bellhop.jobqueue where id = $1", id)
	if err := row.Scan(&created); err != nil {
		o.fail("%v", err)
	}
	saved := o.model.rows[scheduler.JobID(id)]
	saved.created = created
	run(o.model, true, func(s *server) bool { s.set(saved); return true })
}

func (o *oracle) claim(desk int) {
	d := scheduler.Demand{Host: "local", Localities: []string{"local"}, Total: 1 + o.dice.IntN(3),
		Assigned:   o.dice.IntN(2) == 0,
		Readmitted: uint64(len(o.story)), Ring: uint64(len(o.story))}
	d.Types = []scheduler.TypeDemand{{Type: typ, Limit: d.Total, MaxPriority: 19}}
	jobs, err := o.claimers[desk].Claim(o.Context(), o.ids[desk], d)
	if (err == nil) != o.asserted[desk] {
		o.fail("claim on a connection that has asserted: %v, and %v", o.asserted[desk], err)
	}
	if err != nil {
		return
	}
	var real, model []string
	for _, j := range jobs {
		real = append(real, fmt.Sprint(j.Claim, j.Attempt, j.Deaths, j.MaxAttempts, j.Submitted().UnixMicro()))
	}
	floor := o.model.era.Floor
	me := o.ids[desk]
	for _, j := range run(o.model, false, func(s *server) []row { return s.claim(me, d.Total, d.Assigned, floor) }) {
		most := -j.most
		model = append(model, fmt.Sprint(j.claim(), j.attempt, j.deaths, most, j.created.UnixMicro()))
		o.given = append(o.given, j)
	}
	o.same(fmt.Sprintf("claim by %d", o.ids[desk]), real, model)
	o.done["claims"] += len(jobs)
}

// record draws what is said of a claim that was made once.
func (o *oracle) record() (list []scheduler.Record) {
	j := o.given[o.dice.IntN(len(o.given))]
	line := &scheduler.Line{Claim: j.claim(), Attempt: j.attempt, MaxAttempts: -j.most, Deaths: j.deaths}
	r := scheduler.Record{Claim: line.Claim, Attempt: j.attempt, Host: "local", CreatedAt: j.created}
	if o.dice.IntN(3) == 0 {
		list = append(list, r)
	}
	switch o.dice.IntN(4) {
	case 0:
		r.Kind = scheduler.RecordRequeue
		r.Lost = []string{"", "its host is gone"}[o.dice.IntN(2)]
		r.Verdict.Delay = time.Duration(o.dice.IntN(2)) * time.Hour
	case 1:
		if r.Kind = scheduler.RecordStart; len(list) > 0 {
			return list
		}
	default:
		how := []scheduler.Outcome{scheduler.OutcomeSucceeded, scheduler.OutcomeFailed, scheduler.OutcomeDied,
			scheduler.OutcomeCancelled}[o.dice.IntN(4)]
		r.Kind, r.Result = scheduler.RecordSettle, scheduler.Result{Line: line, Outcome: how, Child: "c", ExitCode: 1}
		r.Verdict = scheduler.Judge(&r.Result, scheduler.RetryPolicy{First: time.Hour, Most: time.Hour, Factor: 1}, 0)
	}
	return append(list, r)
}

func (o *oracle) write(desk int) {
	if len(o.given) == 0 {
		return
	}
	b := scheduler.Batch{Records: o.record(), MaybeCommitted: o.dice.IntN(2) == 0}
	for again := true; again; again = o.dice.IntN(4) == 0 { // an acknowledgement that was lost has it written twice
		stale, released, err := o.recorder.Write(o.Context(), o.ids[desk], b, time.Now())
		if err != nil {
			o.fail("write %+v: %v", b.Records, err)
		}
		w := run(o.model, true, func(s *server) written { return s.write(o.ids[desk], b) })
		what := fmt.Sprintf("write by %d of %v, kinds", o.ids[desk], b.Records[0].Claim)
		for _, r := range b.Records {
			what += fmt.Sprintf(" %d %s", r.Kind, r.Verdict.State)
		}
		o.same(fmt.Sprint(what, " again ", b.MaybeCommitted), fmt.Sprint(stale, released), fmt.Sprint(w.stale, w.released))
		o.done["writes"]++
		o.done["stale writes"] += len(stale)
	}
}

// holds are claims that an instance believes to have.
func (o *oracle) holds() (list []scheduler.Hold) {
	for range min(len(o.given), o.dice.IntN(4)) {
		j := o.given[len(o.given)-1-o.dice.IntN(min(len(o.given), 6))]
		if !slices.ContainsFunc(list, func(h scheduler.Hold) bool { return h.Job == j.id }) {
			list = append(list, scheduler.Hold{Claim: j.claim(), Attempt: j.attempt, Host: "local",
				CreatedAt: j.created, Over: o.dice.IntN(2) == 0})
		}
	}
	return list
}

func (o *oracle) assert(desk int) {
	holds, me := o.holds(), o.ids[desk]
	real, err := o.claimers[desk].Assert(o.Context(), me, holds)
	if err != nil {
		o.fail("assert: %v", err)
	}
	var a scheduler.Asserted
	a.Again = run(o.model, false, func(s *server) int { return s.reassert(me, holds) })
	if a.Lost = lostOf(holds, o.model.claims(me)); len(a.Lost) == 0 {
		run(o.model, false, (*server).beginEra)
		o.model.assertedBy(me)
		a.Not, o.asserted[desk] = o.model.notAsserted(), true
	}
	o.done["taken again"] += a.Again
	o.same(fmt.Sprintf("assert by %d of %v", me, holds), fmt.Sprint(real), fmt.Sprint(a))
}

func (o *oracle) bury(desk int) {
	proven := o.dice.IntN(2) == 0
	did, jobs, err := o.registry.MarkGone(o.Context(), o.ids[desk], "dead", proven)
	if err != nil {
		o.fail("bury: %v", err)
	}
	b := run(o.model, true, func(s *server) burial { return s.bury(o.ids[desk], proven) })
	o.same(fmt.Sprintf("bury %d, proven %v", o.ids[desk], proven), fmt.Sprint(did, jobs), fmt.Sprint(b.did, b.jobs))
	if !did {
		return
	}
	o.done["burials"]++
	// A claim that commits while its instance is buried.
	for _, j := range o.model.sorted() {
		if j.held() {
			o.exec("update bellhop.jobqueue set instance = $2 where id = $1", int64(j.id), int64(o.ids[desk]))
			j.instance = o.ids[desk]
			run(o.model, true, func(s *server) bool { s.set(j); return true })
			return
		}
	}
}

func (o *oracle) beat(desk int) {
	_, err := o.registry.Beat(o.Context(), o.ids[desk], "beat")
	b := run(o.model, true, func(s *server) scheduler.Beat { return s.beat(o.ids[desk]) })
	o.same(fmt.Sprintf("beat of %d", o.ids[desk]), errors.Is(err, scheduler.ErrGone), b.Server == "")
	if err != nil { // it starts again
		o.register(desk)
		o.asserted[desk] = false
		o.claimers[desk].Close()
		if o.claimers[desk], err = store.NewClaimer(o.url); err != nil {
			o.Fatal(err)
		}
	}
	list, err := o.registry.Suspects(o.Context(), o.ids[desk])
	var real, model []string
	for _, s := range list {
		real = append(real, fmt.Sprint(s.ID, s.Silent))
	}
	for _, s := range o.model.suspects(o.ids[desk]) {
		model = append(model, fmt.Sprint(s.ID, s.Silent))
	}
	slices.Sort(real)
	slices.Sort(model)
	o.same(fmt.Sprint("suspects ", err), real, model)
}

func (o *oracle) due() {
	_, _, err := o.maintenance.Due(o.Context()) // it counts more than these: the rows decide
	run(o.model, true, (*server).due)
	o.done["strays"] += run(o.model, true, (*server).strays)
	o.same("due", err, nil)
}

// passes lets an hour go by for what waits for the clock, and for an instance.
func (o *oracle) passes(desk int) {
	o.exec("update bellhop.jobqueue set run_at = run_at - interval '2 hours' where run_at is not null")
	for _, j := range o.model.sorted() {
		if !j.runAt.IsZero() {
			j.runAt = j.runAt.Add(-2 * time.Hour)
			run(o.model, true, func(s *server) bool { s.set(j); return true })
		}
	}
	o.exec("update bellhop.instance set heartbeat_at = heartbeat_at - interval '1 hour' where id = $1", int64(o.ids[desk]))
	o.exec("update bellhop.era_now set began_at = began_at - interval '1 hour'")
	o.model.eraBegan = o.model.eraBegan.Add(-time.Hour)
	m := o.model.members[o.ids[desk]]
	m.heartbeat -= time.Hour
	run(o.model, true, func(s *server) bool { put(s, s.members, m.ID, m); return true })
	o.story = append(o.story, fmt.Sprintf("an hour passes without %d", o.ids[desk]))
}

func (o *oracle) cancel() {
	if n := len(o.model.rows); n > 0 {
		id := o.model.sorted()[o.dice.IntN(n)].id
		o.exec("select bellhop.cancel($1)", int64(id))
		o.story = append(o.story, fmt.Sprint("cancel ", id))
		run(o.model, true, func(s *server) bool { return s.cancel(id) })
	}
}

// look asks what the server has of claims that were made once.
func (o *oracle) look(desk int) {
	var runs []scheduler.Run
	for _, j := range o.given {
		runs = append(runs, scheduler.Run{Claim: j.claim(), CreatedAt: j.created, Over: o.dice.IntN(2) == 0})
	}
	b := scheduler.LookBack{Was: "a", Server: "b", Runs: runs}
	gone, again, err := o.claimers[desk].LookBack(o.Context(), o.ids[desk], b)
	g, a := scheduler.Missing(runs, o.model.fates(runs), time.Time{})
	o.same(fmt.Sprint("look back ", err), fmt.Sprint(gone, again), fmt.Sprint(g, a))
}
