package member

import (
	"context"
	"errors"
	"maps"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

// told is what others have to be told beside the children, and have not been.
type told struct {
	deaths   map[scheduler.TypeName]map[string]scheduler.Death
	dead     map[scheduler.TypeName]bool // of these, what is not published
	draining *message.Draining
}

func (t *told) died(m *message.Death) {
	if t.deaths == nil {
		t.deaths, t.dead = map[scheduler.TypeName]map[string]scheduler.Death{}, map[scheduler.TypeName]bool{}
	}
	if t.deaths[m.Type] == nil {
		t.deaths[m.Type] = map[string]scheduler.Death{}
	}
	if m.Deaths == 0 {
		delete(t.deaths[m.Type], string(m.Host))
	} else {
		t.deaths[m.Type][string(m.Host)] = m.Death
	}
	t.dead[m.Type] = true
}

// retry has all of it told once more.
func (t *told) retry() {
	for typ := range t.deaths {
		t.dead[typ] = true
	}
}

// take is what is to be published now.
func (t *told) take() (now told) {
	now.draining = t.draining
	now.deaths = map[scheduler.TypeName]map[string]scheduler.Death{}
	for typ := range t.dead {
		now.deaths[typ] = maps.Clone(t.deaths[typ])
	}
	clear(t.dead)
	return now
}

// publish tells it.
func (t *told) publish(ctx context.Context, h Ports) error {
	for typ, hosts := range t.deaths {
		if err := h.Reports.Deaths(ctx, h.ID(), typ, hosts); err != nil {
			return err
		}
	}
	if t.draining != nil {
		return h.Reports.Draining(ctx, h.ID(), t.draining.Since)
	}
	return nil
}

// unbeaten reports whether the database answers and the heartbeat alone has failed, since another transaction has the
// instance's row, say. Others are told of the children then, too: else a host that is full seems to have room.
func (b *beaten) unbeaten() bool {
	var away *scheduler.Unreachable
	return b.err != nil && !b.joined && !errors.Is(b.err, scheduler.ErrGone) && !errors.As(b.err, &away)
}
