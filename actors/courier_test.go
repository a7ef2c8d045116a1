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
)

// letters is a courier that looks as a clock does; what it began to send has ended after a while.
type letters struct {
	*clock
	ends time.Duration // of the one message; 0: there is none
	once *sync.Once
}

func (l letters) Turn(ctx context.Context, me scheduler.InstanceID, again func()) (int, time.Duration, error) {
	if l.ends > 0 {
		l.once.Do(func() { time.AfterFunc(l.ends, again) })
	}
	return l.clock.Turn(ctx, me)
}

func playCourier(t *testing.T, k *clock, with func(s *stage, at func() []time.Duration)) {
	t.Helper()
	playLetters(t, letters{clock: k}, with)
}

func playLetters(t *testing.T, k letters, with func(s *stage, at func() []time.Duration)) {
	t.Helper()
	play(t, Config{Courier: k}, func(s *stage) {
		s.listen(message.RoleDispatcher, message.RoleMaintenance)
		start := time.Now()
		s.start(message.RoleCourier, upkeep.NewCourier(s.forCourier()))
		with(s, func() []time.Duration { _, at := k.take(start); k.times = nil; return at })
	})
}

func toTell(d time.Duration) *scheduler.ControlState {
	return &scheduler.ControlState{Notices: true, NoticeIn: d}
}

// Nothing is asked where nobody is to be told of anything; what is due is sent at once, and what is not when its
// time comes.
func TestCourier_SendsWhenTheTimeComes(t *testing.T) {
	t.Parallel()
	k := &clock{fired: 1, next: -1}
	playCourier(t, k, func(s *stage, at func() []time.Duration) {
		for range 100 {
			s.Tell(message.RoleCourier, &scheduler.ControlState{Sensors: true})
			after[*message.Rang](s, time.Minute, message.RoleDispatcher)
		}
		if got := at(); got != nil {
			t.Errorf("looked at %v, and nobody is to be told", got)
		}
		begin := 100 * time.Minute
		s.Tell(message.RoleCourier, toTell(0))
		after[*message.Rang](s, time.Minute, message.RoleDispatcher)
		s.Tell(message.RoleCourier, toTell(10*time.Second))
		after[*message.Rang](s, time.Minute, message.RoleDispatcher)
		if got := at(); !slices.Equal(got, []time.Duration{begin, begin + 70*time.Second}) {
			t.Errorf("looked at %v", got)
		}
		s.Tell(message.RoleCourier, &message.Finish{})
		s.Tell(message.RoleCourier, toTell(0))
		after[*message.Rang](s, time.Hour, message.RoleDispatcher)
		if got := at(); got != nil {
			t.Errorf("looked at %v, after it was told to stop", got)
		}
	})
}

// What comes to nothing, or cannot be looked at, is paced, whoever asks for it.
func TestCourier_IsPaced(t *testing.T) {
	t.Parallel()
	for _, down := range []error{nil, errors.New("no database")} {
		k := &clock{next: 0, down: down}
		playCourier(t, k, func(s *stage, at func() []time.Duration) {
			for range 3600 {
				s.Tell(message.RoleCourier, toTell(0))
				after[*message.Rang](s, time.Second, message.RoleDispatcher)
			}
			if got := len(at()); got < 700 || got > 800 {
				t.Errorf("looked %d times in an hour", got)
			}
		})
	}
}

// A message that has ended makes room for others: the look that follows waits for no clock.
func TestCourier_LooksAgainWhenAMessageHasEnded(t *testing.T) {
	t.Parallel()
	k := letters{&clock{fired: 1, next: -1}, 30 * time.Second, &sync.Once{}}
	playLetters(t, k, func(s *stage, at func() []time.Duration) {
		s.Tell(message.RoleCourier, toTell(0))
		after[*message.Rang](s, time.Hour, message.RoleDispatcher)
		if got := at(); !slices.Equal(got, []time.Duration{0, 30 * time.Second}) {
			t.Errorf("looked at %v", got)
		}
	})
}
