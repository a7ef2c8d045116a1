package lock

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/scheduler/fair"
)

var keyWeights = map[string]float64{"": 1, "a": 1, "b": 2, "c": 0.5, "d": 3}

// byFair are the starts of jobs of one type and priority by the model of shares. Jobs come, and take, whole seconds.
func byFair(jobs []Arrival, slots int) []time.Duration {
	starts, waiting, ends := make([]time.Duration, len(jobs)), map[string][]int{}, map[time.Duration]int{}
	var line fair.Line
	free, next, started := slots, 0, 0
	for now := time.Duration(0); started < len(jobs); now += sec {
		free += ends[now]
		moment := ends[now] > 0
		for ; next < len(jobs) && jobs[next].At == now; next++ {
			moment = true
			waiting[jobs[next].Share] = append(waiting[jobs[next].Share], next)
			line.Come(jobs[next].Share, keyWeights[jobs[next].Share], 1)
		}
		if !moment || free == 0 {
			continue
		}
		for _, key := range line.Take(free) {
			i := waiting[key][0]
			waiting[key], starts[i] = waiting[key][1:], now
			ends[now+jobs[i].Takes]++
			free--
			started++
		}
	}
	return starts
}

// The keys of a type take turns in a simulation as the model has it, in every order that knows of turns, and whether
// jobs have no locks, or each a lock of its own.
func TestSimulate_KeysTakeTurnsAsInTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		own := rapid.Bool().Draw(t, "locks")
		at, jobs := time.Duration(0), []Arrival(nil)
		for i := range rapid.IntRange(1, 60).Draw(t, "n") {
			at += time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(t, "gap")) * sec
			j := Arrival{At: at, Type: "cat",
				Share: rapid.SampledFrom([]string{"a", "a", "a", "b", "c", "d", ""}).Draw(t, "share"),
				Takes: time.Duration(rapid.IntRange(1, 4).Draw(t, "takes")) * sec}
			if own {
				j.Locks = NewSet(want("a", fmt.Sprint(i), Exclusive))
			}
			jobs = append(jobs, j)
		}
		p := quick(rapid.SampledFrom([]Order{Predictive, FIFO, Greedy, Blind}).Draw(t, "order"))
		if own {
			p = policyOf(p.Order) // an aged job with locks keeps its place
		}
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		room := Room{Slots: slots, Shares: Shares{Weights: map[string]map[string]float64{"cat": keyWeights}}}
		if rapid.Bool().Draw(t, "limited") {
			room.Max, room.Slots = map[string]int{"cat": slots}, 9
		}
		if got, want := Simulate(jobs, room, p).Starts, byFair(jobs, slots); !slices.Equal(got, want) {
			t.Fatalf("%s: start at\n%v, in the model at\n%v", p.Order, got, want)
		}
	})
}

// keysBy are the keys of jobs in the order of their starts.
func keysBy(jobs []Arrival, o Outcome) string {
	at := make([]int, len(jobs))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(x, y int) int { return int(o.Starts[x] - o.Starts[y]) })
	keys := make([]string, len(jobs))
	for n, i := range at {
		keys[n] = jobs[i].Share
	}
	return strings.Join(keys, "")
}

// Jobs that a lock has kept waiting, while others of their key started, do not start all at once afterwards; other
// types keep the places that they have beside the line; and shares can be left out.
func TestSimulate_TurnsBesideLocksAndOtherTypes(t *testing.T) {
	t.Parallel()
	many := func(list ...any) (jobs []Arrival) {
		for i := 0; i < len(list); i += 3 {
			for range list[i].(int) {
				j := Arrival{Type: "cat", Share: list[i+1].(string), Takes: sec}
				if text := list[i+2].(string); text != "" {
					j.Locks = set(t, text)
				}
				jobs = append(jobs, j)
			}
		}
		return jobs
	}
	held := many(1, "x", "a:hot=exclusive", 4, "a", "a:hot=shared", 8, "a", "b:x=shared", 9, "b", "b:x=shared")
	held[0].Takes = 14 * sec
	held[0].Type = "dog"
	mixed := many(3, "a", "", 2, "-", "", 2, "b", "")
	mixed[3].Type, mixed[4].Type = "dog", "dog"
	locked := slices.Clone(mixed)
	for i := range locked {
		locked[i].Locks = NewSet(want("a", fmt.Sprint(i), Exclusive))
	}
	for name, c := range map[string]struct {
		jobs []Arrival
		room Room
		want string
	}{
		"late":           {held, Room{Slots: 2}, "x" + strings.Repeat("ab", 9) + "aaa"},
		"another type":   {mixed, Room{Slots: 1}, "aba--ba"},
		"and locks":      {locked, Room{Slots: 1}, "aba--ba"},
		"without shares": {mixed, Room{Slots: 1, Shares: Shares{None: true}}, "aaa--bb"},
	} {
		if got := keysBy(c.jobs, Simulate(c.jobs, c.room, policyOf(FIFO))); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A forecast goes on where the keys stand: one that owes comes later, one that has come first comes first, and weights
// count.
func TestScene_KeysTakeTurnsFromWhereTheyStand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines   []Standing
		weights map[string]float64
		want    string
	}{
		"nothing is known": {want: "abababaa"},
		"weights":          {weights: map[string]float64{"a": 3}, want: "abaaabab"},
		"one owes": {want: "bbabaaaa", lines: []Standing{{Type: "cat", Now: 5, Keys: []fair.Standing{
			{Name: "a", Weight: 1, Tag: 6.5, Idle: true}, {Name: "b", Weight: 1, Tag: 5, Began: true}}}}},
		"came first": {want: "bababaaa", lines: []Standing{{Type: "cat", Now: 5, Keys: []fair.Standing{
			{Name: "a", Weight: 1, Tag: 5, Came: 9}, {Name: "b", Weight: 1, Tag: 5, Came: 8}}}}},
		"another priority": {want: "abababaa", lines: []Standing{{Type: "cat", Priority: 1, Now: 5, Keys: []fair.Standing{
			{Name: "a", Weight: 1, Tag: 99, Began: true}}}}},
	} {
		s := stage()
		s.Slots, s.Shares = 1, Shares{Lines: c.lines, Weights: map[string]map[string]float64{"cat": c.weights}}
		for i, share := range "aaaaabbb" {
			s.Jobs = append(s.Jobs, Seen{Job: ID(i + 1), Type: "cat", Share: string(share), Place: 1, Beside: true})
		}
		var jobs []Arrival
		var o Outcome
		starts := s.Starts(tenSeconds)
		for _, j := range s.Jobs {
			jobs, o.Starts = append(jobs, Arrival{Share: j.Share}), append(o.Starts, starts[j.Job].P50.Sub(epoch))
		}
		if got := keysBy(jobs, o); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
