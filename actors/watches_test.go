package actors

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"bellhop/actors/message"
	"bellhop/actors/upkeep"
	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
)

// outlook is a database with sensors that are watched, and what they see.
type outlook struct {
	mu    sync.Mutex
	mine  []workflow.Watch
	fails error // of each watch
	calls map[string]int
	open  map[string]int
	told  []string
	kept  int
	owner bool

	behind []int64 // what each watch says, one after the other
	lags   []int64 // what was told of it
}

func (k *outlook) Mine(context.Context, scheduler.InstanceID) ([]workflow.Watch, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mine, nil
}

func (k *outlook) Happened(context.Context, scheduler.InstanceID, string, workflow.Sight) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.owner {
		k.kept++
	}
	return k.owner, nil
}

func (k *outlook) Failing(_ context.Context, _ scheduler.InstanceID, _, why string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = append(k.told, why)
	return nil
}

func (k *outlook) Lag(_ context.Context, _ scheduler.InstanceID, _ string, lag int64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lags = append(k.lags, lag)
	return nil
}

func (k *outlook) Watch(ctx context.Context, w workflow.Watch, well func(), lag func(context.Context, int64),
	happened func(context.Context, workflow.Sight) error) error {
	k.mu.Lock()
	k.calls[w.Workflow+w.Sensor.Notify]++
	k.open[w.Workflow]++
	err := k.fails
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		k.open[w.Workflow]--
		k.mu.Unlock()
	}()
	for _, n := range k.behind {
		lag(ctx, n)
	}
	if err != nil {
		return err
	}
	well()
	if err := happened(ctx, workflow.Sight{Events: []workflow.Happening{{Event: "x"}}}); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func playWatches(t *testing.T, with func(s *stage, k *outlook)) {
	t.Helper()
	k := &outlook{calls: map[string]int{}, open: map[string]int{}, owner: true}
	play(t, Config{Watches: k, Lookout: k}, func(s *stage) {
		s.listen(message.RoleDispatcher)
		s.start(message.RoleWatches, upkeep.NewWatches(s.forWatches()))
		with(s, k)
		s.Tell(message.RoleWatches, &message.Finish{})
		after[*message.Rang](s, time.Minute, message.RoleDispatcher)
		for name, n := range k.open {
			if n != 0 {
				t.Errorf("%s is watched at the end", name)
			}
		}
	})
}

func watchOf(name, channel string) workflow.Watch {
	return workflow.Watch{Workflow: name, Sensor: workflow.Sensor{Notify: channel}}
}

// What is watched is what the list says; what has not changed goes on.
func TestWatches_AreThoseOfTheList(t *testing.T) {
	t.Parallel()
	playWatches(t, func(s *stage, k *outlook) {
		look := func(number int64, list ...workflow.Watch) {
			k.mine = list
			s.Tell(message.RoleWatches, &scheduler.ControlState{Watches: number})
			after[*message.Rang](s, time.Second, message.RoleDispatcher)
		}
		look(0)
		look(1, watchOf("a", "x"), watchOf("b", "x"))
		look(1, watchOf("none", "of it is read again"))
		look(2, watchOf("a", "x"), watchOf("b", "y"))
		if k.calls["ax"] != 1 || k.calls["bx"] != 1 || k.calls["by"] != 1 || len(k.calls) != 3 {
			t.Errorf("watched %v", k.calls)
		}
		look(0)
		if k.open["a"] != 0 || k.open["b"] != 0 {
			t.Errorf("watched still: %v", k.open)
		}
		look(3, watchOf("a", "x"))
	})
}

// What fails for hours is told once, and tried no oftener than each minute; when it sees again that is told.
func TestWatches_ThatFailForHours(t *testing.T) {
	t.Parallel()
	playWatches(t, func(s *stage, k *outlook) {
		k.mine, k.fails = []workflow.Watch{watchOf("a", "x")}, errors.New("no such thing")
		s.Tell(message.RoleWatches, &scheduler.ControlState{Watches: 1})
		after[*message.Rang](s, 6*time.Hour, message.RoleDispatcher)
		if n := k.calls["ax"]; n < 300 || n > 380 || len(k.told) != 1 || k.told[0] != "no such thing" {
			t.Errorf("tried %d times in 6 hours, told %q", n, k.told)
		}
		k.mu.Lock()
		k.fails = nil
		k.mu.Unlock()
		after[*message.Rang](s, 2*time.Minute, message.RoleDispatcher)
		if k.open["a"] != 1 || len(k.told) != 2 || k.told[1] != "" || k.kept != 1 {
			t.Errorf("it sees again: %v, told %q, kept %d", k.open, k.told, k.kept)
		}
	})
}

// One whose workflow is another instance's keeps nothing, tells nothing, and is no busy loop.
func TestWatches_OfAnother(t *testing.T) {
	t.Parallel()
	playWatches(t, func(s *stage, k *outlook) {
		k.mine, k.owner = []workflow.Watch{watchOf("a", "x")}, false
		s.Tell(message.RoleWatches, &scheduler.ControlState{Watches: 1})
		after[*message.Rang](s, time.Hour, message.RoleDispatcher)
		if n := k.calls["ax"]; n > 4000 || len(k.told) != 0 || k.kept != 0 {
			t.Errorf("tried %d times, told %q, kept %d", n, k.told, k.kept)
		}
	})
}

// Whoever is told that it is another's reads the list anew, though nothing says that this has changed.
func TestWatches_OfAnotherAreReadAnew(t *testing.T) {
	t.Parallel()
	playWatches(t, func(s *stage, k *outlook) {
		k.mine, k.owner = []workflow.Watch{watchOf("a", "x")}, false
		s.Tell(message.RoleWatches, &scheduler.ControlState{Watches: 1})
		after[*message.Rang](s, time.Minute, message.RoleDispatcher)
		k.mu.Lock()
		k.mine, k.owner = []workflow.Watch{watchOf("a", "y")}, true
		k.mu.Unlock()
		s.Tell(message.RoleWatches, &scheduler.ControlState{Watches: 1})
		after[*message.Rang](s, time.Second, message.RoleDispatcher)
		if k.calls["ay"] != 1 || k.kept != 1 {
			t.Errorf("watched %v, kept %d", k.calls, k.kept)
		}
	})
}

// How far a sensor is behind is told when it is another number; and anew after a failure, by which it is forgotten.
func TestWatches_TellHowFarTheyAreBehind(t *testing.T) {
	t.Parallel()
	playWatches(t, func(s *stage, k *outlook) {
		k.mine, k.behind = []workflow.Watch{watchOf("a", "x")}, []int64{0, 0, 7, 7, 0}
		s.Tell(message.RoleWatches, &scheduler.ControlState{Watches: 1})
		after[*message.Rang](s, time.Second, message.RoleDispatcher)
		if !slices.Equal(k.lags, []int64{0, 7, 0}) {
			t.Errorf("told %v", k.lags)
		}
		k.mu.Lock()
		k.mine, k.behind, k.fails, k.lags = []workflow.Watch{watchOf("a", "y")}, []int64{5}, errors.New("no such thing"), nil
		k.mu.Unlock()
		s.Tell(message.RoleWatches, &scheduler.ControlState{Watches: 2})
		after[*message.Rang](s, 500*time.Millisecond, message.RoleDispatcher)
		k.mu.Lock()
		k.fails = nil
		k.mu.Unlock()
		after[*message.Rang](s, time.Minute, message.RoleDispatcher)
		if !slices.Equal(k.lags, []int64{5, 5}) {
			t.Errorf("told %v", k.lags)
		}
	})
}
