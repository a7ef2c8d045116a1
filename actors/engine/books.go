package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/port"
	"bellhop/scheduler"
	"bellhop/scheduler/engine"
)

// books is what is to be read from and written to the book of tags. One turn at a time does all there is.
type books struct {
	look, record []scheduler.Claim
	save         []*watched
	turn         bool // one is under way
	pace, sweep  engine.Pace
}

// booked: a turn is over. What could not be done is there again.
type booked struct {
	look, record []scheduler.Claim
	save         []*watched
	rows         []engine.Row
	found        map[scheduler.Claim]engine.Tag
	recorded     map[scheduler.Claim]bool
	left         []engine.Ref
	swept        bool
	err          error
	// what was done of it
	looked, wrote, saved bool
}

func (b *books) sweepSoon(now time.Time) {
	if soon := now.Add(engineSweepSoon); b.sweep.Fails == 0 && b.sweep.Next.After(soon) {
		b.sweep.Next = soon
	}
}

// book starts a turn, where there is something to do.
func (s *host) book(c actor.Context, now time.Time) {
	b := &s.books
	sweep := b.sweep.Due(now) && !s.calls.killing && !s.leaving
	if b.turn || !b.pace.Due(now) || len(b.look)+len(b.record)+len(b.save) == 0 && !sweep {
		return
	}
	m := &booked{look: b.look, record: b.record, save: b.save, swept: sweep}
	b.turn, b.look, b.record, b.save = true, nil, nil, nil
	for _, w := range m.save {
		w.dirty, w.saving = false, true
		m.rows = append(m.rows, s.row(w, now))
	}
	inst, ctx, self, conf, me := s.inst, s.ctx, c.Self(), s.conf, s.inst.ID()
	go func() {
		m.err = m.do(ctx, inst, me, conf)
		inst.Send(self, m)
	}()
}

func (m *booked) do(ctx context.Context, inst *Ports, me scheduler.InstanceID,
	conf port.EngineSpec) (err error) {
	if len(m.rows) > 0 { // an outcome waits for it
		if err := inst.Tags.Save(ctx, me, m.rows, time.Now()); err != nil {
			return err
		}
	}
	m.saved = true
	if len(m.record) > 0 {
		recorded, err := inst.Tags.Record(ctx, me, conf.Engine, m.record)
		if err != nil {
			return err
		}
		m.recorded = make(map[scheduler.Claim]bool, len(recorded))
		for _, claim := range recorded {
			m.recorded[claim] = true
		}
	}
	m.wrote = true
	if len(m.look) > 0 {
		if m.found, err = inst.Tags.Look(ctx, me, m.look); err != nil {
			return err
		}
	}
	m.looked = true
	if m.swept {
		m.left, err = inst.Leftovers.Sweep(ctx, me, conf.Type)
	}
	return err
}

func (s *host) onBooked(m *booked, now time.Time) {
	b := &s.books
	b.turn = false
	if m.err != nil {
		if s.ctx.Err() == nil {
			s.inst.Log.Warn("cannot read or write the tags of an engine's jobs; it is tried again", "type", s.conf.Type, "error", m.err)
		}
		b.pace = b.pace.Failed(now, rand.Float64())
	} else {
		b.pace = b.pace.Answered(now)
	}
	for _, w := range m.save {
		w.saving = false
		switch {
		case !m.saved && s.jobs[w.line.Claim] == w:
			w.dirty = true
			b.save = append(b.save, w)
		case m.saved && !w.dirty:
			s.step(w, engine.Event{Kind: engine.Saved}, now)
		}
	}
	for _, claim := range m.record {
		w := s.jobs[claim]
		switch {
		case w == nil:
		case !m.wrote:
			b.record = append(b.record, claim)
		case m.recorded[claim]:
			s.step(w, engine.Event{Kind: engine.Recorded}, now)
		default:
			s.notOurs(w)
		}
	}
	for _, claim := range m.look {
		w := s.jobs[claim]
		switch tag, ours := m.found[claim]; {
		case w == nil:
		case !m.looked:
			b.look = append(b.look, claim)
		case !ours:
			s.notOurs(w)
		case tag.Name == "":
			s.step(w, engine.Event{Kind: engine.NoTag}, now)
		default:
			w.tag, w.log.kept = tag.Name, tag.Logged
			s.note(w, "its work is on engine "+s.conf.Engine+" already, tag "+tag.Name+": it is watched from here on, and not submitted again")
			s.step(w, engine.Event{Kind: engine.HasTag, Tag: tag}, now)
		}
	}
	if m.swept {
		if m.err != nil {
			b.sweep = b.sweep.Failed(now, rand.Float64())
		} else {
			b.sweep = b.sweep.Answered(now)
			s.calls.toSweep = append(s.calls.toSweep, m.left...)
		}
	}
}

// notOurs: the claim does not stand any more, or is not written yet as it should be. That is found out by giving it
// back.
func (s *host) notOurs(w *watched) {
	s.inst.requeue(w.line, "")
	s.forget(w)
}
