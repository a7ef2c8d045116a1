package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/scheduler"
	"bellhop/scheduler/engine"
)

// engineFetches is how many calls of logs run at once.
const engineFetches = 4

// calls are the calls of an engine's commands: of find, poll and kill one at a time, each for all jobs there are.
type calls struct {
	submit, find, poll, kill, logs engine.Pace
	finding, polling, killing      bool
	fetching, following            int
	follow                         engine.Pace // of looks for jobs whose logs have followers
	toSubmit, toKill, toFetch      []*watched
	toSweep                        []engine.Ref
}

func newCalls(conf port.EngineSpec) calls {
	return calls{
		submit: engine.Pace{Most: engineBackoff},
		find:   engine.Pace{Every: engineFindEvery, Most: engineBackoff},
		poll:   engine.Pace{Every: conf.Poll, Most: engineBackoff},
		kill:   engine.Pace{Most: engineBackoff},
		logs:   engine.Pace{Most: engineBackoff},
		follow: engine.Pace{Every: engineTickEvery},
	}
}

// answered: a call is over.
type answered struct {
	call scheduler.EngineCall
	said scheduler.EngineSaid
	jobs []*watched // the jobs of the call
	runs bool       // logs: its job is not over
	left []engine.Ref
	err  error // of what was recorded of it
	ctx  context.Context
}

// call makes the calls that are due.
func (s *host) call(c actor.Context, now time.Time) {
	k := &s.calls
	for _, w := range k.toSubmit {
		if w.remote.State != engine.Submitting { // it is another's meanwhile
			continue
		}
		line := w.line
		call := scheduler.EngineCall{Op: "submit", Args: []string{w.tag}, Line: &line}
		s.run(c, &answered{call: call, jobs: []*watched{w}})
	}
	k.toSubmit = nil
	if !k.finding && s.unsure > 0 && k.find.Due(now) {
		k.finding = s.askAll(c, "find", func(r *engine.Remote) bool { return r.State == engine.Unsure })
	}
	if !k.polling && k.poll.Due(now) {
		k.polling = s.askAll(c, "poll", (*engine.Remote).Polled)
	}
	if !k.killing && k.kill.Due(now) {
		s.callKill(c)
	}
	for len(k.toFetch) > 0 && k.fetching < engineFetches {
		w := k.toFetch[0]
		k.toFetch = k.toFetch[1:]
		s.fetch(c, w, now)
	}
	if s.conf.Logs && k.follow.Due(now) && k.logs.Due(now) {
		k.follow = k.follow.Answered(now)
		s.followSome(c, now)
	}
}

func (s *host) ref(w *watched) engine.Ref { return engine.Ref{Tag: w.tag, ID: w.remote.ID} }

// askAll asks once for all jobs of which something is to be known.
func (s *host) askAll(c actor.Context, op string, of func(*engine.Remote) bool) bool {
	m := &answered{call: scheduler.EngineCall{Op: op}}
	var in strings.Builder
	for _, w := range s.jobs {
		if of(&w.remote) {
			m.jobs = append(m.jobs, w)
			in.WriteString(s.ref(w).Line())
		}
	}
	if m.jobs == nil {
		return false
	}
	m.call.In = in.String()
	s.run(c, m)
	return true
}

func (s *host) callKill(c actor.Context) {
	k := &s.calls
	m := &answered{call: scheduler.EngineCall{Op: "kill"}}
	var in strings.Builder
	for _, w := range k.toKill {
		if w.remote.State == engine.Killing {
			m.jobs = append(m.jobs, w)
			in.WriteString(s.ref(w).Line())
		}
	}
	k.toKill = nil
	if m.jobs == nil && !s.leaving {
		m.left, k.toSweep = k.toSweep, nil
		m.call.Over = true
		for _, ref := range m.left {
			in.WriteString(ref.Line())
		}
	}
	if in.Len() == 0 {
		return
	}
	m.call.In = in.String()
	k.killing = true
	s.run(c, m)
}

func (s *host) fetch(c actor.Context, w *watched, now time.Time) {
	switch {
	case w.remote.State != engine.Ended:
	case !s.conf.Logs:
		s.step(w, engine.Event{Kind: engine.Logged}, now)
	case !s.calls.logs.Due(now):
		s.note(w, "what it wrote was not fetched: the engine gives none just now")
		s.step(w, engine.Event{Kind: engine.Logged}, now)
	default:
		s.calls.fetching++
		s.run(c, s.logsOf(w))
	}
}

// run runs a command beside the actor.
func (s *host) run(c actor.Context, m *answered) {
	m.call.Type, m.ctx = s.conf.Type, s.ctx
	inst, ctx, self, live := s.inst, s.ctx, c.Self(), s.inst.Processes
	live.Enter()
	go func() {
		m.said = inst.Commands.Run(ctx, m.call, func() time.Duration { return inst.LeaseLeft(time.Now()) })
		if m.call.Over && m.said.Failed == "" {
			tags := make([]string, len(m.left))
			for i, ref := range m.left {
				tags[i] = ref.Tag
			}
			m.err = inst.Leftovers.Swept(ctx, tags)
		}
		live.Leave()
		inst.Send(self, m)
	}()
}

func (s *host) onAnswered(m *answered, now time.Time) {
	k := &s.calls
	if m.said.Cut && m.said.Failed == "" && m.call.In != "" {
		m.said.Failed = "its answer is too long"
	}
	switch m.call.Op {
	case "submit":
		s.onSubmitted(m, now)
	case "find":
		k.finding = false
		ids, err := engine.Finds(m.said.Out)
		k.find = s.paced(k.find, m, err, now)
		for _, w := range m.jobs {
			if id, there := ids[w.tag]; there {
				s.step(w, engine.Event{Kind: engine.Found, ID: id}, now)
			} else if m.said.Failed == "" && err == nil {
				s.step(w, engine.Event{Kind: engine.NotFound}, now)
			}
		}
	case "poll":
		k.polling = false
		of, err := engine.Polls(m.said.Out)
		k.poll = s.paced(k.poll, m, err, now)
		for _, w := range m.jobs {
			if p, there := of[w.tag]; there {
				s.step(w, engine.Event{Kind: engine.Seen, Stage: p.Stage, ExitCode: p.ExitCode, Said: p.Said}, now)
			} else if m.said.Failed == "" && err == nil {
				s.step(w, engine.Event{Kind: engine.NotSeen}, now)
			}
		}
	case "kill":
		k.killing = false
		k.kill = s.paced(k.kill, m, nil, now)
		if m.said.Failed == "" {
			for _, w := range m.jobs {
				s.step(w, engine.Event{Kind: engine.Killed}, now)
			}
		}
	case "logs":
		if m.runs {
			s.onFollowed(m, now)
			break
		}
		k.fetching--
		if k.logs = k.logs.Answered(now); strings.HasPrefix(m.said.Failed, "killed: ") { // else it is this job's alone
			k.logs = k.logs.Failed(now, rand.Float64())
		}
		w := m.jobs[0]
		if w.remote.State != engine.Ended { // another instance has taken it over, and fetches it
			break
		}
		s.logged(w, w.log.rest(&m.said), now)
		if m.said.Failed != "" {
			s.note(w, "what it wrote could not be fetched: "+m.said.Told())
		} else if m.said.Cut {
			s.note(w, "what it wrote is longer: this is its end")
		}
		s.step(w, engine.Event{Kind: engine.Logged}, now)
	}
}

func (s *host) onSubmitted(m *answered, now time.Time) {
	w := m.jobs[0]
	first, _, _ := strings.Cut(strings.TrimSpace(m.said.Out), "\n")
	id, _, _ := strings.Cut(strings.TrimSpace(first), " ")
	switch {
	case m.said.Stays != nil: // the engine was not asked
		s.step(w, engine.Event{Kind: engine.Unopened, Said: m.said.Stays.Why, Pause: m.said.Stays.Pause}, now)
	case m.said.Failed == "":
		s.calls.submit = s.calls.submit.Answered(now)
		s.step(w, engine.Event{Kind: engine.Accepted, ID: id}, now)
		s.tell("", now)
	case m.said.Code == scheduler.EngineRefuses:
		s.calls.submit = s.calls.submit.Answered(now)
		s.tell("", now)
		s.step(w, engine.Event{Kind: engine.Denied, ExitCode: m.said.Code, Said: strings.TrimSpace(m.said.Err)}, now)
	default:
		s.step(w, engine.Event{Kind: engine.Unclear, Said: m.said.Told()}, now)
		if m.ctx.Err() == nil {
			s.tell("submit: "+m.said.Told(), now)
		}
	}
}

// paced paces the next call of a command by how this one went, and tells of it.
func (s *host) paced(p engine.Pace, m *answered, odd error, now time.Time) engine.Pace {
	why := m.said.Told()
	if m.said.Failed == "" {
		why = ""
		if odd != nil {
			why = fmt.Sprintf("its answer is not valid: %v", odd)
		}
	}
	if m.ctx.Err() != nil {
		return p
	}
	if why == "" {
		if p.Fails > 0 {
			s.tell("", now)
		}
		return p.Answered(now)
	}
	s.tell(m.call.Op+": "+why, now)
	return p.Failed(now, rand.Float64())
}

// tell tells membership why an engine does not do what it is asked; empty: it does again.
func (s *host) tell(why string, now time.Time) {
	if why == s.trouble || why == "" && s.calls.submit.Fails > 0 {
		return
	}
	if why != "" {
		s.inst.Log.Warn("an engine's command failed; it is asked again, ever more seldom", "type", s.conf.Type, "engine", s.conf.Engine,
			"why", why)
	} else {
		s.inst.Log.Info("an engine answers again", "type", s.conf.Type, "engine", s.conf.Engine)
	}
	s.trouble = why
	reason, words, _ := strings.Cut(why, ": ")
	if why != "" {
		reason = "the engine does not answer: " + reason
	}
	s.inst.Tell(message.RoleMembership, &message.Trouble{Type: s.conf.Type, Host: s.spec.Name,
		Why: scheduler.Account{Reason: reason, Message: words}})
}

// soonest is when something is to be done for jobs that are held.
func (s *host) soonest(now time.Time) time.Time {
	at := now.Add(engineTickEvery)
	for _, t := range []time.Time{s.calls.submit.Next, s.calls.find.Next, s.calls.poll.Next, s.books.pace.Next} {
		if t.After(now) && t.Before(at) {
			at = t
		}
	}
	return at
}
