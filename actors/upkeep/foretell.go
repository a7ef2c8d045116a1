package upkeep

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// foretellShare bounds what it costs to know how far off forecasts are: of so much time one part.
const foretellShare = 100

// foretell foretells when jobs that wait for locks start, and compares what was
// foretold before with what has become of it: where there are such jobs, with the
// safety scan, less often where it takes long.
func (m *maintenance) foretell(c actor.Context) {
	began := time.Now()
	if m.Seers == nil || m.foretelling || began.Before(m.foretellAt) {
		return
	}
	m.foretelling = true
	h, ctx, self := m.MaintenancePorts, m.ctx, c.Self()
	go func() {
		if err := h.Seers.Foretell(ctx); err != nil && ctx.Err() == nil {
			h.Log.Debug("maintenance: cannot foretell when jobs start", "error", err)
		}
		h.Send(self, &foretold{took: time.Since(began)})
	}()
}
