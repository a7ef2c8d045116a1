package actors

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"bellhop/actors/message"
	"bellhop/actors/upkeep"
	"bellhop/scheduler"
)

// clock is a database with sensors.
type clock struct {
	calls
	fired int
	next  time.Duration
	down  error
	took  time.Duration
}

func (k *clock) Turn(context.Context, scheduler.InstanceID) (int, time.Duration, error) {
	k.add("turn")
	time.Sleep(k.took) // virtual
	return k.fired, k.next, k.down
}

func playSensors(t *testing.T, k *clock, with func(s *stage, at func() []time.Duration)) {
	t.Helper()
	play(t, Config{Sensors: k}, func(s *stage) {
		s.listen(message.RoleDispatcher, message.RoleMaintenance)
		start := time.Now()
		s.start(message.RoleSensors, upkeep.NewSensors(s.forSensors()))
		with(s, func() []time.Duration { _, at := k.take(start); k.times = nil; return at })
	})
}

func in(d time.Duration) *scheduler.ControlState {
	return &scheduler.ControlState{Sensors: true, SensorIn: d}
}

func TestSensors_LookWhenTheTimeComes(t *testing.T) {
	t.Parallel()
	k := &clock{fired: 1, next: 10 * time.Second}
	playSensors(t, k, func(s *stage, at func() []time.Duration) {
		for range 100 { // rounds without workflows
			s.Tell(message.RoleSensors, &scheduler.ControlState{})
			after[*message.Rang](s, time.Minute, message.RoleDispatcher)
		}
		if got := at(); got != nil {
			t.Errorf("looked at %v, and there are no workflows", got)
		}
		s.Tell(message.RoleSensors, in(3*time.Second))
		s.Tell(message.RoleSensors, in(2*time.Second)) // there is a sooner one now
		if got := after[*message.Rang](s, 12*time.Second, message.RoleDispatcher); len(got) != 2 {
			t.Errorf("it rang %d times", len(got))
		}
		begin := 100 * time.Minute
		if got := at(); !slices.Equal(got, []time.Duration{begin + 2*time.Second, begin + 12*time.Second}) {
			t.Errorf("looked at %v", got)
		}
		s.Tell(message.RoleSensors, &scheduler.ControlState{}) // the last one was deactivated
		after[*message.Rang](s, time.Hour, message.RoleDispatcher)
		if got := at(); got != nil {
			t.Errorf("looked at %v, and nothing is active", got)
		}
	})
}

// What is due and cannot be had, or fails, is looked at again and again, ever more seldom.
func TestSensors_NeverABusyLoop(t *testing.T) {
	t.Parallel()
	for _, k := range []*clock{{next: 0}, {next: -1, down: errors.New("connection lost")}} {
		playSensors(t, k, func(s *stage, at func() []time.Duration) {
			s.Tell(message.RoleSensors, in(0))
			for range 3600 { // rounds go on saying that it is due
				after[*message.Rang](s, time.Second, message.RoleDispatcher)
				s.Tell(message.RoleSensors, in(0))
			}
			if got := len(at()); got < 1700 || got > 1900 {
				t.Errorf("looked %d times in an hour", got)
			}
			k.next, k.down, k.fired = time.Hour, nil, 1
			after[*message.Rang](s, 10*time.Second, message.RoleDispatcher)
			if got := len(at()); got < 1 || got > 2 {
				t.Errorf("looked %d times when it could be had", got)
			}
		})
	}
}

// Where the next slot is far away, and another look was asked for during the last one, which came to nothing, nobody
// has to wait for that slot: neither who asked, nor who asks next.
func TestSensors_HearWhoAsksWhileTheNextSlotIsFar(t *testing.T) {
	t.Parallel()
	k := &clock{next: 1000 * time.Hour, took: time.Second}
	playSensors(t, k, func(s *stage, at func() []time.Duration) {
		s.Tell(message.RoleSensors, in(0))
		s.Tell(message.RoleSensors, in(0))
		after[*message.Rang](s, time.Minute, message.RoleDispatcher)
		if got := at(); len(got) != 2 {
			t.Errorf("looked at %v, and was asked twice", got)
		}
		s.Tell(message.RoleSensors, in(0)) // one was applied
		after[*message.Rang](s, time.Minute, message.RoleDispatcher)
		if got := at(); !slices.Equal(got, []time.Duration{time.Minute}) {
			t.Errorf("looked at %v when it was asked after a minute", got)
		}
	})
}

// What is said while a look is under way is not lost, and an instance that is told to stop starts nothing.
func TestSensors_LookAgainAndStop(t *testing.T) {
	t.Parallel()
	k := &clock{fired: 1, next: time.Hour, took: time.Second}
	playSensors(t, k, func(s *stage, at func() []time.Duration) {
		for range 5 {
			s.Tell(message.RoleSensors, in(0))
		}
		after[*message.Rang](s, time.Minute, message.RoleDispatcher)
		if got := at(); !slices.Equal(got, []time.Duration{0, time.Second}) {
			t.Errorf("looked at %v", got)
		}
		s.Tell(message.RoleSensors, &message.Finish{})
		s.Tell(message.RoleSensors, in(0))
		after[*message.Rang](s, 2*time.Hour, message.RoleDispatcher)
		if got := at(); got != nil {
			t.Errorf("looked at %v, after it was told to stop", got)
		}
	})
}
