package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"bellhop/actors/lasting"
	"bellhop/scheduler"
	"bellhop/scheduler/engine"
)

// engineResult is how long what a job gives back may be.
const engineResult = 64 << 10

// engineLines is how many lines of what a job wrote are kept: its last ones.
const engineLines = 10_000

// step tells a job of something, and carries out what follows.
func (s *host) step(w *watched, ev engine.Event, now time.Time) {
	if w == nil {
		return
	}
	was := w.remote.State
	next, effects := w.remote.Step(ev, s.conf.Rules, now)
	w.remote = next
	s.count(w, was)
	for _, e := range effects {
		s.carryOut(w, e, now)
	}
	if next.State == engine.Over {
		s.forget(w)
	}
}

// count keeps the numbers of jobs that are not with the engine yet.
func (s *host) count(w *watched, was engine.State) {
	is := w.remote.State
	if was == is {
		return
	}
	s.before += tally(is, early) - tally(was, early)
	s.busy += tally(is, handed) - tally(was, handed)
	s.unsure += tally(is, unknown) - tally(was, unknown)
	if is == engine.Waiting {
		s.waiting = append(s.waiting, w)
	}
}

func tally(state engine.State, in func(engine.State) bool) int {
	if in(state) {
		return 1
	}
	return 0
}

func early(s engine.State) bool   { return s <= engine.Unsure }
func unknown(s engine.State) bool { return s == engine.Unsure }
func handed(s engine.State) bool  { return s == engine.Recording || s == engine.Submitting }

func (s *host) carryOut(w *watched, e engine.Effect, now time.Time) {
	switch e {
	case engine.Record:
		s.books.record = append(s.books.record, w.line.Claim)
	case engine.Submit:
		s.calls.toSubmit = append(s.calls.toSubmit, w)
	case engine.Save:
		w.dirty = true
		s.books.save = append(s.books.save, w)
	case engine.Kill:
		s.calls.toKill = append(s.calls.toKill, w)
	case engine.Logs:
		s.calls.toFetch = append(s.calls.toFetch, w)
	case engine.Settle:
		s.settle(w, now)
	case engine.GiveBack:
		s.inst.requeue(w.line, "")
	case engine.Pause:
		s.calls.submit = s.calls.submit.Failed(now, rand.Float64())
	}
}

// forget is when nothing is to be done about it here any more.
func (s *host) forget(w *watched) {
	if w == nil || s.jobs[w.line.Claim] != w {
		return
	}
	was := w.remote.State
	w.remote.State = engine.Over
	s.count(w, was)
	delete(s.jobs, w.line.Claim)
	s.quota.Alive.Add(-1)
}

// submitSome gives turns: so many jobs at once, and none while the engine does not take any.
func (s *host) submitSome(now time.Time) {
	for len(s.waiting) > 0 && s.busy < s.conf.Submits && s.calls.submit.Due(now) && !s.leaving {
		w := s.waiting[0]
		s.waiting = s.waiting[1:]
		if w.remote.Submittable() {
			s.step(w, engine.Event{Kind: engine.Turn}, now)
		}
		if s.calls.submit.Fails > 0 { // one tries whether it takes jobs again
			break
		}
	}
}

// judge says what the job becomes, once.
func (s *host) judge(w *watched, now time.Time) *scheduler.Record {
	if w.judged == nil {
		rec := lasting.Judged(s.inst.Retry(s.conf.Type), s.result(w, now))
		w.judged = &rec
	}
	return w.judged
}

func (s *host) settle(w *watched, now time.Time) {
	rec := s.judge(w, now)
	if rec.Why == lasting.Snoozed {
		s.note(w, fmt.Sprintf("its exit code puts it off for %s, and this does not count as an attempt", rec.Verdict.Delay))
	} else if rec.Result.Again {
		s.note(w, rec.Why+"; it is tried again, and this does not count as an attempt")
	}
	s.inst.Outbox.Owe(*rec)
	if w.remote.Tagged {
		s.books.sweepSoon(now)
	}
}

// result is what became of a job, in the words of all others.
func (s *host) result(w *watched, now time.Time) scheduler.Result {
	end, line := w.remote.End, w.line
	r := scheduler.Result{Line: &line, ExitCode: end.ExitCode, Error: end.Reason, Host: s.spec.Name, Began: w.began,
		Ended: now}
	if w.remote.Tagged {
		r.Child = scheduler.ChildName(w.tag)
	}
	switch end.How {
	case engine.OK:
		r.Outcome, r.ExitCode = scheduler.OutcomeSucceeded, 0
		if said := []byte(end.Said); len(said) > 1 && len(said) <= engineResult && (said[0] == '{' || said[0] == '[') &&
			json.Valid(said) && !strings.Contains(end.Said, `\u0000`) {
			r.Answer = &scheduler.Answer{Result: said}
		}
		return r
	case engine.Bad:
		r.Outcome, r.Answer = scheduler.OutcomeFailed, s.conf.Ends.Answer(end.ExitCode, nil)
		if r.Answer != nil {
			r.Outcome = scheduler.OutcomeSucceeded
			return r
		}
	case engine.Cancelled:
		r.Outcome = scheduler.OutcomeCancelled
	case engine.TimedOut:
		r.Outcome = scheduler.OutcomeTimedOut
	case engine.Sealed:
		r.Outcome, r.Again, r.Answer = scheduler.OutcomeLost, true, &scheduler.Answer{Snooze: end.Pause}
	case engine.Refused:
		r.Outcome, r.Answer = scheduler.OutcomeFailed, &scheduler.Answer{Never: true}
	default:
		r.Outcome = scheduler.OutcomeFailed
	}
	if r.Error == "" && end.How == engine.Bad {
		r.Error = fmt.Sprintf("exit status %d", end.ExitCode)
	}
	r.Message = end.Said
	return r
}

// row is what is to be recorded of a job.
func (s *host) row(w *watched, now time.Time) engine.Row {
	r := &w.remote
	row := engine.Row{Job: int64(w.line.Claim.Job), Fence: int64(w.line.Claim.Fence),
		Tag: engine.Tag{Name: w.tag, State: engine.TagRunning, ID: r.ID, Stage: r.Stage, In: r.Ran, End: r.End}}
	switch {
	case r.State != engine.Ended:
		row.End = engine.End{}
	case s.judge(w, now).Verdict.Release: // the next try is another one, with the same number
		row.State = engine.TagKilling
	default:
		row.State = engine.TagEnded
	}
	return row
}

func (s *host) note(w *watched, text string) {
	s.inst.Outbox.Note(w.line.Claim, w.line.Attempt, s.spec.Name, text)
}

// logged keeps what a job wrote.
func (s *host) logged(w *watched, lines []string, now time.Time) {
	if more := len(lines) - engineLines; more > 0 {
		lines = lines[more:]
		s.note(w, fmt.Sprintf("%d lines of what it wrote, the first ones, are not kept", more))
	}
	list := make([]scheduler.Entry, len(lines))
	for i, line := range lines {
		list[i] = scheduler.Entry{Claim: w.line.Claim, Attempt: w.line.Attempt, Child: scheduler.ChildName(w.tag),
			Host: s.spec.Name, Level: scheduler.LevelOut, At: now, Text: line}
	}
	s.inst.Outbox.Entries(list)
}
