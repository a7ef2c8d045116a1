package upkeep

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// foretellShare bounds what it costs to know how far off forecasts are: of so much time one part.
const foretellShare = 100

// foretell foretells when jobs that wait for locks start, and compares what was
// foretold before with what has become of it; and it looks whether promises are kept. Where
// there are such jobs, with the safety scan; the forecasts less often where they take long.
func (m *maintenance) foretell(c actor.Context, promises bool) {
	began := time.Now()
	whole := !began.Before(m.foretellAt)
	if m.Seers == nil || m.foretelling || !whole && !promises {
		return
	}
	m.foretelling = true
	h, ctx, self := m.MaintenancePorts, m.ctx, c.Self()
	go func() {
		if err := h.Seers.Foretell(ctx, whole); err != nil && ctx.Err() == nil {
			h.Log.Debug("maintenance: cannot foretell when jobs start", "error", err)
		}
		over := &foretold{whole: whole}
		if whole {
			over.again = time.Now().Add(max(h.Scan, foretellShare*time.Since(began)))
		}
		h.Send(self, over)
	}()
}
