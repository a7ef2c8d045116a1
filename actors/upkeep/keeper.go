package upkeep

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// keeper has deleted what was over long ago, beside all else. It asks no more often
// than a pass is wanted: whose turn it is, the database says.
type keeper struct {
	KeeperPorts
	// owned by Receive
	timer  *time.Timer
	ctx    context.Context
	cancel context.CancelFunc
}

func NewKeeper(h KeeperPorts) *keeper { return &keeper{KeeperPorts: h} }

// Messages of the keeper to itself.
type (
	keeperTick struct{}
	keeperDone struct {
		deleted int64
		err     error
	}
)

func (k *keeper) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		k.ctx, k.cancel = context.WithCancel(context.Background())
		if k.Retention != nil && k.Every > 0 {
			k.arm(c, k.Every/12) // a starting instance has other work first
		}
	case *keeperTick:
		k.turn(c)
	case *keeperDone:
		k.onDone(c, m)
	case *actor.Stopping:
		k.cancel()
		if k.timer != nil {
			k.timer.Stop()
		}
	}
}

func (k *keeper) arm(c actor.Context, in time.Duration) {
	k.timer = k.Later(c.Self(), in, &keeperTick{})
}

func (k *keeper) turn(c actor.Context) {
	h, ctx, self := k.KeeperPorts, k.ctx, c.Self()
	go func() {
		m := &keeperDone{}
		if h.ID() != 0 {
			m.deleted, m.err = h.Retention.Turn(ctx, h.ID())
		}
		h.Send(self, m)
	}()
}

func (k *keeper) onDone(c actor.Context, m *keeperDone) {
	switch {
	case m.err != nil && k.ctx.Err() == nil:
		k.Log.Warn("cannot delete what was over long ago; it is tried again", "in", k.Every.String(), "error", m.err)
	case m.deleted > 0:
		k.Log.Info("deleted what was over long ago", "jobs_and_runs", m.deleted)
	}
	k.arm(c, k.Every)
}
