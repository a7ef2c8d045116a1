package actors

import (
	"context"
	"slices"
	"testing"
	"time"

	"bellhop/actors/message"
	"bellhop/actors/upkeep"
	"bellhop/scheduler"
)

// sweeper is a database with things that were over long ago.
type sweeper struct{ clock }

func (k *sweeper) Turn(ctx context.Context, me scheduler.InstanceID) (int64, error) {
	n, _, err := k.clock.Turn(ctx, me)
	return int64(n), err
}

// A pass an hour, the first one soon after the start; none where nothing is to be deleted.
func TestKeeper_AnHourApart(t *testing.T) {
	t.Parallel()
	for every, want := range map[time.Duration][]time.Duration{
		0:         nil,
		time.Hour: {5 * time.Minute, 66 * time.Minute, 127 * time.Minute},
	} {
		k := &sweeper{clock{took: time.Minute}}
		play(t, Config{Retention: k, RetentionEvery: every}, func(s *stage) {
			s.listen(message.RoleDispatcher)
			start := time.Now()
			s.start(message.RoleKeeper, upkeep.NewKeeper(s.forKeeper()))
			after[*message.Rang](s, 3*time.Hour, message.RoleDispatcher)
			if _, at := k.take(start); !slices.Equal(at, want) {
				t.Errorf("every %s: at %v, want %v", every, at, want)
			}
		})
	}
}
