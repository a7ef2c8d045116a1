package lock

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const sec = time.Second

func policyOf(o Order) Policy {
	p := DefaultPolicy
	p.Order, p.Levels = o, testLevels
	return p
}

func starts(o Outcome) (list []int) {
	for _, s := range o.Starts {
		list = append(list, int(s/sec))
	}
	return list
}

// One slot without locks: by priority and id. Two slots: who would wait for a lock
// lets others by; where nothing is known of locks it waits in its slot.
func TestSimulate_ByHand(t *testing.T) {
	t.Parallel()
	x, y := set(t, "a:x=exclusive"), set(t, "a:y=exclusive")
	plain := []Arrival{{At: 0, Takes: 10 * sec}, {At: sec, Takes: 10 * sec}, {At: 2 * sec, Takes: 10 * sec, Priority: -1}}
	locks := []Arrival{{Takes: 10 * sec, Locks: x}, {Takes: 10 * sec, Locks: x}, {Takes: 10 * sec, Locks: y}}
	asks := []Arrival{{Takes: 10 * sec, Asks: x}, {Takes: 10 * sec, Asks: x}, {Takes: 10 * sec, Locks: y}}
	for _, c := range []struct {
		name     string
		jobs     []Arrival
		slots    int
		order    Order
		starts   []int
		makespan time.Duration
		stood    float64
	}{
		{"one slot", plain, 1, Predictive, []int{0, 20, 10}, 30 * sec, 0},
		{"one slot", plain, 1, FIFO, []int{0, 20, 10}, 30 * sec, 0},
		{"one slot", plain, 1, Ganeti, []int{0, 20, 10}, 30 * sec, 0},
		{"a lock", locks, 2, Predictive, []int{0, 10, 0}, 20 * sec, 0},
		{"a lock", locks, 2, FIFO, []int{0, 10, 0}, 20 * sec, 0},
		{"a lock", locks, 2, Blind, []int{0, 10, 10}, 20 * sec, 0.25},
		{"a lock at run time", asks, 2, Predictive, []int{0, 10, 10}, 20 * sec, 0.25},
	} {
		if o := Simulate(c.jobs, Room{Slots: c.slots}, policyOf(c.order)); !slices.Equal(starts(o), c.starts) ||
			o.Makespan != c.makespan || o.Contention != c.stood {
			t.Errorf("%s, %s: %+v", c.name, c.order, o)
		}
	}
	o := Simulate(plain, Room{Slots: 1}, policyOf(FIFO))
	if o.WaitP50 != 8*sec || o.WaitP99 != 19*sec || o.WaitMax != 19*sec || o.WaitMean != 9*sec || o.Utilisation != 1 {
		t.Errorf("%+v", o)
	}
	if o := Simulate(nil, Room{Slots: 1}, DefaultPolicy); o.Makespan != 0 || len(o.Starts) != 0 {
		t.Errorf("%+v", o)
	}
}

func TestSimulate_JobsThatWaitForEachOtherAreBroken(t *testing.T) {
	t.Parallel()
	o := Simulate([]Arrival{
		{Takes: 3 * sec, Locks: set(t, "a:z=exclusive")},
		{Takes: sec, Locks: set(t, "a:x=exclusive"), Asks: set(t, "a:y=exclusive", "a:z=shared")}, // waits for the first, then for the next
		{Takes: sec, Locks: set(t, "a:y=exclusive"), Asks: set(t, "a:x=exclusive")},
		{At: 5 * sec, Takes: sec}}, Room{Slots: 3}, policyOf(FIFO))
	if o.Broken != 1 || !slices.Equal(starts(o), []int{0, 3, 3, 5}) {
		t.Errorf("%+v", o)
	}
}

// A job comes when those that it needs have ended, a pause later; no more of a type run than may; a slot rests
// between two jobs. An age counts from the submission, and what is compared is told by group.
func TestSimulate_NeedsLimitsAndRests(t *testing.T) {
	t.Parallel()
	jobs := []Arrival{
		{Type: "a", Group: "x", Takes: 10 * sec},
		{Type: "a", Group: "y", Takes: 10 * sec, Needs: []int{0}, Pause: 2 * sec},
		{Type: "a", Group: "x", Takes: 5 * sec, Needs: []int{1, 3}},
		{Type: "b", Group: "y", Takes: 30 * sec},
		{Type: "b", Group: "y", Takes: sec},
		{Type: "a", Group: "x", Takes: sec, Needs: []int{2}, Again: true},
	}
	for _, c := range []struct {
		room   Room
		starts []int
	}{
		{Room{Slots: 3}, []int{0, 12, 30, 0, 0, 35}},
		{Room{Slots: 3, Max: map[string]int{"b": 1}}, []int{0, 12, 30, 0, 30, 35}},
		{Room{Slots: 2, Rests: sec}, []int{0, 13, 30, 0, 11, 35}},
	} {
		if o := Simulate(jobs, c.room, policyOf(FIFO)); !slices.Equal(starts(o), c.starts) {
			t.Errorf("%+v: %v", c.room, starts(o))
		}
	}
	was := Simulate(jobs, Room{Slots: 3, Max: map[string]int{"b": 1}}, policyOf(FIFO))
	is := Simulate(jobs, Room{Slots: 3}, policyOf(FIFO))
	want := []Part{{Group: "x", Jobs: 2, Busy: 16. / 36}, {Group: "y", Jobs: 3, Busy: 41. / 36, Earlier: 1}}
	if got := is.Parts(jobs, was); !reflect.DeepEqual(got, want) || was.WaitMax != 30*sec || is.WaitMax != 0 {
		t.Errorf("%+v, %v and %v", got, was.WaitMax, is.WaitMax)
	}
	x := set(t, "a:x=exclusive")
	late := Arrival{At: 2 * sec, Waited: time.Hour, Takes: sec, Priority: 1, Locks: x}
	old := []Arrival{{Takes: 10 * sec}, {At: sec, Takes: sec}, late}
	if o := Simulate(old, Room{Slots: 1}, policyOf(FIFO)); !slices.Equal(starts(o), []int{0, 11, 10}) {
		t.Errorf("what is older is better: %v", starts(o))
	}
}

// arrivals are jobs that come in a rush and want much of the same.
func arrivals(most int) *rapid.Generator[[]Arrival] {
	return rapid.Custom(func(t *rapid.T) []Arrival {
		var jobs []Arrival
		at := time.Duration(0)
		for range rapid.IntRange(1, most).Draw(t, "n") {
			at += time.Duration(rapid.IntRange(0, 3).Draw(t, "gap")) * sec
			jobs = append(jobs, Arrival{At: at, Locks: sets().Draw(t, "locks"),
				Share:    rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "share"),
				Priority: rapid.SampledFrom([]int{-20, -1, 0, 0, 19}).Draw(t, "priority"),
				Takes:    time.Duration(rapid.IntRange(1, 9).Draw(t, "takes")) * sec})
		}
		return jobs
	})
}

// quick is a policy that ages within seconds.
func quick(o Order) Policy {
	p := policyOf(o)
	p.Constants.Tick, p.Constants.AgeingTicks, p.Constants.PriorityTick = sec, 5, 2*sec
	return p
}

// What is kept from pass to pass chooses as Select does, which sees all anew.
func TestSimulate_ChoosesAsSelectDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := arrivals(25).Draw(t, "jobs")
		for i := range jobs { // that many wait for the same, and for something else besides
			if hot := rapid.SampledFrom([]string{"", "", "a:1=exclusive", "b:*=exclusive", "a:1=shared"}).Draw(t, "hot"); hot != "" {
				w, _ := Parse(hot)
				jobs[i].Locks = jobs[i].Locks.Merge(NewSet(w))
			}
		}
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		p := quick(rapid.SampledFrom([]Order{Predictive, FIFO, Greedy}).Draw(t, "order"))
		got := Simulate(jobs, Room{Slots: slots, Shares: Shares{None: true}}, p).Starts
		if want := bySelect(jobs, slots, p); !slices.Equal(got, want) {
			t.Fatalf("%s: started at %v, and by Select %v", p.Order, got, want)
		}
	})
}

// bySelect simulates with Select alone.
func bySelect(jobs []Arrival, slots int, p Policy) []time.Duration {
	started := make([]time.Duration, len(jobs))
	var pending, running []Job
	ends := map[ID]time.Duration{}
	for now, next := time.Duration(0), 0; next < len(jobs) || len(running) > 0; now += sec {
		moment := false
		running = slices.DeleteFunc(running, func(j Job) bool {
			moment = moment || ends[j.ID] == now
			return ends[j.ID] == now
		})
		for ; next < len(jobs) && jobs[next].At == now; next++ {
			moment = true
			pending = append(pending, Job{ID: ID(next + 1), Locks: jobs[next].Locks, Priority: jobs[next].Priority,
				Since: epoch.Add(now)})
		}
		if !moment {
			continue
		}
		for _, pick := range Select(Input{Pending: pending, Running: running, Free: slots - len(running), Policy: p,
			Now: epoch.Add(now)}).Picks {
			i := slices.IndexFunc(pending, func(j Job) bool { return j.ID == pick.ID })
			running, pending = append(running, pending[i]), slices.Delete(pending, i, i+1)
			started[pick.ID-1], ends[pick.ID] = now, now+jobs[pick.ID-1].Takes
		}
	}
	return started
}

// Whatever the order: who runs at the same time does not conflict, by what is
// known and by what is asked for, and no more run than there are slots.
func TestSimulate_NoTwoThatWorkConflict(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := arrivals(25).Draw(t, "jobs")
		for i := range jobs {
			if rapid.IntRange(0, 3).Draw(t, "asks") == 0 {
				jobs[i].Asks = sets().Draw(t, "asks")
			}
		}
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		o := Simulate(jobs, Room{Slots: slots}, quick(rapid.SampledFrom(Orders).Draw(t, "order")))
		for i, x := range jobs {
			beside := 1
			for k, y := range jobs {
				if i == k || o.Starts[k] > o.Starts[i] || o.Starts[i] >= o.Starts[k]+y.Takes || o.Broken > 0 {
					continue
				}
				beside++
				if is, why := Conflicts(x.Locks.Merge(x.Asks), y.Locks.Merge(y.Asks)); is {
					t.Fatalf("%s: %d beside %d: %v", o.Order, i, k, why)
				}
			}
			if o.Starts[i] < x.At || o.Broken == 0 && beside > slots {
				t.Fatalf("%s: %d started at %v beside %d", o.Order, i, o.Starts[i], beside)
			}
		}
	})
}

// bound is what Select's theorem promises a job: t₁ + (A+1)·D.
func bound(jobs []Arrival, o Outcome, i int, c Constants) time.Duration {
	longest, before := time.Duration(0), time.Duration(0)
	for _, j := range jobs {
		longest = max(longest, j.Takes)
	}
	t1 := jobs[i].At + max(c.Horizon(), 39*c.PriorityTick)
	for k := range i {
		if o.Starts[k] > t1 {
			before++
		}
	}
	return t1 + (before+1)*longest
}

// The theorem at Select, against whoever submits what, when and how urgently.
func TestSelect_NobodyStarves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := quick(rapid.SampledFrom([]Order{Predictive, FIFO}).Draw(t, "order"))
		p.Constants.PriorityTick = sec / 8
		jobs := arrivals(20).Draw(t, "jobs")
		// And then an endless stream of the most urgent, of which one always runs.
		wants := []Set{sets().Draw(t, "stream"), sets().Draw(t, "stream")}
		for at := jobs[len(jobs)-1].At; at < 150*sec; at += sec {
			jobs = append(jobs, Arrival{At: at, Locks: wants[int(at/sec)%2], Priority: BestPriority,
				Takes: time.Duration(1+int(at/sec)%4) * sec})
		}
		o := Simulate(jobs, Room{Slots: rapid.IntRange(1, 3).Draw(t, "slots"), Shares: Shares{None: true}}, p)
		for i := range jobs {
			if most := bound(jobs, o, i, p.Constants); o.Starts[i] > most {
				t.Fatalf("%s: %d came at %v and started at %v, no later than %v was promised", p.Order, i, jobs[i].At, o.Starts[i], most)
			}
		}
	})
}

// The same bound is passed where nobody is reserved for: the test above can fail.
func TestSelect_WithoutReservationsOneStarves(t *testing.T) {
	t.Parallel()
	jobs := []Arrival{{Locks: set(t, "a:x=shared"), Takes: 4 * sec}, {At: sec, Locks: set(t, "a:*=exclusive"), Takes: sec}}
	for at := 2 * sec; at < 600*sec; at += 2 * sec {
		jobs = append(jobs, Arrival{At: at, Locks: set(t, "a:x=shared"), Takes: 4 * sec})
	}
	for _, order := range []Order{Predictive, FIFO, Greedy} {
		p := quick(order)
		o := Simulate(jobs, Room{Slots: 4}, p)
		starved := o.Starts[1] > bound(jobs, o, 1, p.Constants)
		if starved != (order == Greedy) || order == Greedy && o.Starts[1] < 600*sec {
			t.Errorf("%s: started at %v", order, o.Starts[1])
		}
	}
}

func TestCycle_FindsWhoWaitsForEachOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		waits map[ID][]ID
		want  []ID
	}{
		{nil, nil},
		{map[ID][]ID{1: {2}, 2: {3}}, nil},
		{map[ID][]ID{1: {2, 3}, 2: {3}, 3: nil}, nil},
		{map[ID][]ID{1: {2}, 2: {1}}, []ID{2, 1}},
		{map[ID][]ID{5: {5}}, []ID{5}},
		{map[ID][]ID{9: {1}, 1: {7}, 7: {3}, 3: {1, 4}}, []ID{7, 3, 1}},
		{map[ID][]ID{1: {2}, 2: {1}, 8: {9}, 9: {8}}, []ID{2, 1}},
	} {
		if got := Cycle(c.waits); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v", c.waits, got)
		}
	}
}

func TestCycle_IsOneAndIsFoundIfThereIsOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Custom(func(t *rapid.T) ID { return ID(rapid.IntRange(1, 9).Draw(t, "id")) })
		waits := rapid.MapOfN(id, rapid.SliceOfN(id, 0, 3), 0, 9).Draw(t, "waits")
		cycle := Cycle(waits)
		for i, id := range cycle {
			if next := cycle[(i+1)%len(cycle)]; !slices.Contains(waits[id], next) || id > cycle[0] {
				t.Fatalf("%v is none: %d does not wait for %d", cycle, id, next)
			}
		}
		left := map[ID]bool{}
		for id := range waits {
			left[id] = true
		}
		for changed := true; changed; { // who waits for nobody that waits is let go, again and again
			changed = false
			for id := range left {
				if !slices.ContainsFunc(waits[id], func(o ID) bool { return left[o] }) {
					delete(left, id)
					changed = true
				}
			}
		}
		if (len(left) > 0) != (cycle != nil) {
			t.Fatalf("%v of %v", cycle, waits)
		}
	})
}

func TestPredict_PlaysThePolicyForward(t *testing.T) {
	t.Parallel()
	x := set(t, "a:x=exclusive")
	of := func(typ string) (time.Duration, time.Duration, bool) {
		return 10 * sec, 20 * sec, typ == "t"
	}
	running := []RunningJob{{ago(9, 0, x), epoch.Add(-4 * sec)}}
	pending := []Job{ago(1, 0, x), ago(2, 0, set(t, "a:y=exclusive")), ago(3, 0, Set{})}
	pending[2].Type = "never seen"
	got := Predict(pending, running, Room{Slots: 2}, policyOf(Predictive), epoch, of)
	want := map[ID]Estimate{
		3: {epoch, epoch}, // it wants nothing, and weighs least
		1: {epoch.Add(6 * sec), epoch.Add(16 * sec)},
		2: {epoch.Add(10 * sec), epoch.Add(20 * sec)}, // when 3, which takes the average, has ended
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if got := Predict(pending[2:], nil, Room{Slots: 1}, DefaultPolicy, epoch, of); got != nil {
		t.Errorf("of nothing known: %v", got)
	}
	late := []RunningJob{{ago(9, 0, x), epoch.Add(-time.Hour)}}
	got = Predict(pending[:1], late, Room{Slots: 1}, policyOf(FIFO), epoch, of)
	if got[1] != (Estimate{epoch.Add(sec), epoch.Add(2 * sec)}) {
		t.Errorf("of who takes longer: %v", got)
	}
}

// What Predict says is what Simulate does, if all take as long as was said.
func TestPredict_IsRightWhereDurationsAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		jobs := arrivals(20).Draw(t, "jobs")
		pending := make([]Job, len(jobs))
		for i := range jobs {
			jobs[i].At = 0
			jobs[i].Type = fmt.Sprint(jobs[i].Takes)
			pending[i] = Job{ID: ID(i + 1), Type: jobs[i].Type, Locks: jobs[i].Locks, Share: jobs[i].Share,
				Priority: jobs[i].Priority, Since: epoch}
		}
		of := func(typ string) (time.Duration, time.Duration, bool) {
			d, err := time.ParseDuration(typ)
			return d, d, err == nil
		}
		slots := rapid.IntRange(1, 3).Draw(t, "slots")
		o := Simulate(jobs, Room{Slots: slots}, quick(Predictive))
		for id, e := range Predict(pending, nil, Room{Slots: slots}, quick(Predictive), epoch, of) {
			if at := epoch.Add(o.Starts[id-1]); !e.P50.Equal(at) || !e.P90.Equal(at) {
				t.Fatalf("%d: %v, and it started at %v", id, e, at)
			}
		}
	})
}

func TestGanetiWorkload_IsTheSameForTheSameSeed(t *testing.T) {
	t.Parallel()
	a, b, c := GanetiWorkload(2000, 7), GanetiWorkload(2000, 7), GanetiWorkload(2000, 8)
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, c) || !reflect.DeepEqual(a[:500], GanetiWorkload(500, 7)) {
		t.Error("the seed does not say what comes")
	}
	if !slices.IsSortedFunc(a, func(x, y Arrival) int { return cmp.Compare(x.At, y.At) }) {
		t.Error("they come in no order")
	}
	often := 0
	seen := map[string]bool{}
	for _, k := range ganetiJobs {
		often += k.often
	}
	for _, j := range a {
		seen[j.Type] = true
		if _, err := ParseAll(append(j.Locks.Text(), j.Asks.Text()...), GanetiLevels); err != nil || j.Takes <= 0 {
			t.Fatalf("%+v: %v", j, err)
		}
	}
	if often != 1000 || len(seen) < len(ganetiJobs)-1 {
		t.Errorf("%d of 1000, %d types", often, len(seen))
	}
	if o := Simulate(a, Room{Slots: 20}, DefaultPolicy); o.Broken > 0 {
		t.Errorf("jobs wait for each other: %+v", o.Broken)
	}
}

func BenchmarkSimulate(b *testing.B) {
	jobs := GanetiWorkload(100_000, 1)
	for _, order := range []Order{Predictive, FIFO, Greedy, Blind} {
		b.Run(string(order), func(b *testing.B) {
			p := DefaultPolicy
			p.Order = order
			for b.Loop() {
				Simulate(jobs, Room{Slots: 20}, p)
			}
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	in := backlogOf(b, 10_000, 100, false)
	var running []RunningJob
	for _, j := range in.Running {
		running = append(running, RunningJob{j, epoch})
	}
	of := func(string) (time.Duration, time.Duration, bool) { return 10 * sec, 30 * sec, true }
	for b.Loop() {
		Predict(in.Pending, running, Room{Slots: 200}, in.Policy, epoch, of)
	}
}

// A job that takes two slots has them when both are free: the first is kept for it.
func TestSimulate_OfSeveralSlots(t *testing.T) {
	t.Parallel()
	jobs := []Arrival{
		{Type: "small", Takes: 10 * sec},
		{Type: "wide", At: sec, Takes: 10 * sec},
		{Type: "small", At: 2 * sec, Takes: 10 * sec},
	}
	room := Room{Slots: 2, Each: map[string]int{"wide": 2}}
	for _, order := range []Order{FIFO, Predictive, Ganeti} {
		o := Simulate(jobs, room, policyOf(order))
		if got := starts(o); !slices.Equal(got, []int{0, 10, 20}) || o.Utilisation < 0.66 || o.Utilisation > 0.67 {
			t.Errorf("%s: they start at %v, and slots are used by %v", order, got, o.Utilisation)
		}
	}
}
