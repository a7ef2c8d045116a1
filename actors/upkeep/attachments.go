package upkeep

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// attachments makes jobs of users' rows, beside the hot path: a turn whenever something rang, a job ended or the
// gate had its look. It gets no messages while no table is attached. Whether one is, comes with what operators want
// (scheduler.ControlState), so that it costs no statement of its own.
type attachments struct {
	AttachmentsPorts
	// owned by Receive
	busy     bool // a turn is under way
	rerun    bool // and another is wanted after it
	stopping bool
	ended    time.Time // when the last turn was over
	pause    time.Duration
	timer    *time.Timer
	said     tree.Complaint
	ctx      context.Context
	cancel   context.CancelFunc
}

func NewAttachments(h AttachmentsPorts) *attachments {
	return &attachments{AttachmentsPorts: h, pause: scheduler.TurnSoon}
}

// Messages of attachments to itself.
type (
	turnNow struct{}
	turned  struct {
		scheduler.Turn
		took time.Duration
		err  error
	}
)

func (a *attachments) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.ctx, a.cancel = context.WithCancel(context.Background())
		a.Rows.Scan() // another one before us may have been about to
	case *message.ScanRows:
		a.want(c)
	case *turnNow:
		a.timer = nil
		a.want(c)
	case *turned:
		a.onTurned(c, m)
	case *message.Finish:
		a.stopping = true
	case *actor.Stopping:
		a.cancel()
		if a.timer != nil {
			a.timer.Stop()
		}
	}
}

// want sees to a turn that begins no earlier than now.
func (a *attachments) want(c actor.Context) {
	switch {
	case a.Tables == nil || a.stopping || a.timer != nil:
		return
	case a.busy:
		a.rerun = true
		return
	}
	h, ctx, self := a.AttachmentsPorts, a.ctx, c.Self()
	if wait := a.pause - time.Since(a.ended); wait > 0 {
		a.timer = a.Later(self, wait, &turnNow{})
		return
	}
	a.busy, a.rerun = true, false
	go func() {
		m, began := &turned{}, time.Now()
		m.Turn, m.err = h.Tables.Turn(ctx)
		m.took = time.Since(began)
		h.Send(self, m)
	}()
}

func (a *attachments) onTurned(c actor.Context, m *turned) {
	since := time.Since(a.ended)
	a.busy, a.ended = false, time.Now()
	if m.Taken > 0 { // before an error too
		a.Ring(&message.Rang{})
	}
	if a.said.News(m.err) && a.ctx.Err() == nil {
		a.Log.Warn("cannot look at attached tables; the safety scan tries again", "error", m.err)
	}
	if m.err != nil {
		a.pause = scheduler.TurnFailed
		return
	}
	if m.Attachments == 0 { // the round that looks for due jobs finds the next one
		a.Rows.Attached.Store(false)
	} else if !a.Rows.Attached.Swap(true) {
		a.rerun = true // a table came as the last had gone: no message told of its rows in between
	}
	a.pause = scheduler.TurnPause(a.pause, m.Turn, m.took, since)
	if a.rerun {
		a.want(c)
	}
}
