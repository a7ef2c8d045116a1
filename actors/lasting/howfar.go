package lasting

import (
	"time"

	"bellhop/scheduler"
)

// farEvery is how often it is written how far jobs are, by what their agents say: one statement for all of them.
const farEvery = time.Second

// farTextMost bounds the words that are kept of it.
const farTextMost = 1000

// howFar is what agents say of how far they are with their jobs, and is not on
// its way yet. It has the latest word of each.
type howFar struct {
	of    map[scheduler.JobID]scheduler.HowFar
	last  time.Time // when some was handed on
	armed bool
}

// HowFar takes what an agent says. It is written at once, or a second after the
// last that was. It never blocks.
func (o *Outbox) HowFar(h scheduler.HowFar) {
	if len(h.Text) > farTextMost {
		h.Text = h.Text[:farTextMost]
	}
	o.mu.Lock()
	if o.far.of == nil {
		o.far.of = map[scheduler.JobID]scheduler.HowFar{}
	}
	if was, is := o.far.of[h.Job]; is && h.Done == nil && was.Fence == h.Fence {
		h.Done = was.Done
	}
	o.far.of[h.Job] = h
	armed, wait := o.far.armed, time.Until(o.far.last.Add(farEvery))
	o.far.armed = true
	o.mu.Unlock()
	switch {
	case armed:
	case wait <= 0:
		o.tellHowFar()
	default:
		time.AfterFunc(wait, o.tellHowFar)
	}
}

// tellHowFar hands on what has gathered.
func (o *Outbox) tellHowFar() {
	o.mu.Lock()
	o.far.armed, o.far.last = false, time.Now()
	for job, h := range o.far.of {
		o.waiting.HowFar = append(o.waiting.HowFar, h)
		delete(o.far.of, job)
	}
	wake := len(o.waiting.HowFar) > 0 && !o.asked
	o.asked = o.asked || wake
	o.mu.Unlock()
	if wake {
		o.wake()
	}
}

// noMore drops what is known of how far jobs are that have ended. mu is held.
func (h *howFar) noMore(records []scheduler.Record) {
	if len(h.of) == 0 {
		return
	}
	for i := range records {
		if records[i].Kind != scheduler.RecordStart {
			delete(h.of, records[i].Claim.Job)
		}
	}
}
