package lock

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What an instance publishes is what another one reads.
func TestPolicy_IsReadAsItWasPublished(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := AnyLevel
		p.Order = rapid.SampledFrom(Orders).Draw(t, "order")
		p.Constants.Tick = time.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "tick"))
		p.Constants.AgeingTicks = rapid.IntRange(0, 1000).Draw(t, "ticks")
		p.Constants.PriorityTick = time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "priority tick"))
		if n := rapid.IntRange(0, 3).Draw(t, "levels"); n > 0 {
			p.Levels = GanetiLevels[:n]
		}
		text, err := p.JSON()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadPolicy(text)
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("%s: %+v, %v", text, got, err)
		}
	})
	for _, text := range []string{`x`, `{}`, `{"tick":"1s","priority_tick":"soon"}`} {
		if p, err := ReadPolicy([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, p)
		}
	}
}
