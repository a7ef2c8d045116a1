package lock

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Unix(1_800_000_000, 0)

// ago is a job that has waited for so long.
func ago(id ID, waited time.Duration, s Set) Job {
	return Job{ID: id, Type: "t", Locks: s, Since: epoch.Add(-waited)}
}

func picked(d Decision) (list []ID) {
	for _, p := range d.Picks {
		list = append(list, p.ID)
	}
	return list
}

// Ganeti design-predictive-queue, the order of a pass: priority beats weight,
// weight beats id.
func TestSelect_PriorityThenWeightThenID(t *testing.T) {
	t.Parallel()
	urgent := ago(4, 0, set(t, "node:?=exclusive"))
	urgent.Priority = -1
	in := Input{Policy: DefaultPolicy, Now: epoch, Free: 9, Running: []Job{ago(9, 0, set(t, "node:n=shared"))},
		Pending: []Job{
			ago(1, 0, set(t, "node:?=exclusive")), // 2.5
			ago(2, 0, set(t, "instance:i=shared")), ago(3, 0, set(t, "instance:j=shared")), urgent}}
	if got := picked(Select(in)); !slices.Equal(got, []ID{4, 2, 3, 1}) {
		t.Error(got)
	}
	in.Policy.Order = FIFO
	if got := picked(Select(in)); !slices.Equal(got, []ID{4, 1, 2, 3}) {
		t.Error(got)
	}
}

// First trap of Ganeti's pass: weights are of its beginning, so that two jobs
// that want the same are both chosen.
func TestSelect_PicksSeeEachOther(t *testing.T) {
	t.Parallel()
	x := set(t, "instance:i=exclusive")
	in := Input{Policy: DefaultPolicy, Now: epoch, Free: 2, Pending: []Job{ago(1, 0, x), ago(2, 0, x), ago(3, 0, set(t, "instance:j=exclusive"))}}
	d := Select(in)
	if got := picked(d); !slices.Equal(got, []ID{1, 3}) {
		t.Error(got)
	}
	if why := d.Waits[2]; why.Code != LockHeld || why.By != 1 || why.String() != "instance:i=exclusive, and job 1 has instance:i=exclusive" {
		t.Errorf("%v", why)
	}
	in.Policy.Order = Ganeti
	if got := picked(Select(in)); !slices.Equal(got, []ID{1, 2}) {
		t.Errorf("the plain rule: %v", got)
	}
}

// Second trap of Ganeti's pass: a paused job uses up a place in a bucket.
func TestSelect_APausedJobTakesNoPlaceInABucket(t *testing.T) {
	t.Parallel()
	one, two := ago(1, time.Second, Set{}), ago(2, 0, Set{})
	one.Reasons, two.Reasons = []string{"rate-limit:1:x"}, []string{"rate-limit:1:x"}
	d := Select(Input{Policy: DefaultPolicy, Now: epoch, Free: 2, Pending: []Job{one, two},
		Rules: []Rule{{ID: "p", Action: Action{Kind: Pause},
			Predicates: []Predicate{predicate(t, `["jobid",["=","id",1]]`)}}}})
	if got := picked(d); !slices.Equal(got, []ID{2}) || d.Waits[1] != (Reason{Code: FilterPaused, Rule: "p"}) {
		t.Error(got, d.Waits)
	}
}

// Ganeti design-predictive-queue: who is held is passed by and blocks nobody;
// lowering the number of slots below what runs starts nothing.
func TestSelect_ReasonsOfWhoIsNotPicked(t *testing.T) {
	t.Parallel()
	limited := ago(3, time.Hour, set(t, "node:n=exclusive"))
	limited.Reasons = []string{"rate-limit:1:x"}
	running := ago(9, 0, set(t, "instance:i=shared"))
	running.Reasons = limited.Reasons
	in := Input{Policy: DefaultPolicy, Now: epoch, Free: 1, Running: []Job{running}, Pending: []Job{
		ago(1, time.Hour, set(t, "instance:i=exclusive", "node:m=exclusive")), // aged, and blocked
		ago(2, 0, set(t, "node:m=shared")), limited,
		ago(4, time.Second, set(t, "node:n=shared")), ago(5, 0, Set{})}}
	d := Select(in)
	if got := picked(d); !slices.Equal(got, []ID{5}) { // weighs 1, and the other 1.3
		t.Error(got)
	}
	for id, want := range map[ID]string{
		1: "lock_held instance:i=exclusive, and job 9 has instance:i=shared",
		2: "lock_reserved node:m=shared, and job 1, which has waited longer, comes first with node:m=exclusive",
		3: "rate_limited as many run as rate-limit:1:x allows",
		4: "no_room other jobs come first",
	} {
		if got := fmt.Sprintf("%s %s", d.Waits[id].Code, d.Waits[id]); got != want {
			t.Errorf("%d: %s", id, got)
		}
	}
	in.Free = -3
	if d := Select(in); len(d.Picks) != 0 || len(d.Waits) != 5 {
		t.Errorf("%+v", d)
	}
}

func TestSelect_ATypeWithoutRoomKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	other := ago(2, 0, Set{})
	other.Type = "u"
	d := Select(Input{Policy: DefaultPolicy, Now: epoch, Free: 5, ByType: map[string]int{"u": 1},
		Pending: []Job{ago(1, time.Hour, Set{}), other}})
	if got := picked(d); !slices.Equal(got, []ID{2}) || d.Waits[1].Code != NoRoom {
		t.Error(got, d.Waits)
	}
}

// naive is Select as it is told, with no regard to speed.
func naive(in Input) []ID {
	c := in.Policy.Constants
	pending, running := slices.Clone(in.Pending), slices.Clone(in.Running)
	var picks []ID
	priority := func(j Job) int { return c.Priority(j.Priority, in.Now.Sub(j.Since)) }
	aged := func(j Job) bool { return c.Aged(in.Now.Sub(j.Since)) }
	for len(picks) < in.Free {
		var sets []Set
		for _, r := range running {
			if !r.Locks.Empty() { // a job without locks weighs nothing for others
				sets = append(sets, r.Locks)
			}
		}
		weights := map[ID]float64{}
		for _, j := range pending {
			if in.Policy.Order == Predictive {
				weights[j.ID] = c.Weigh(j.Locks, sets, in.Policy.Levels, in.Now.Sub(j.Since)).Weight
			}
		}
		slices.SortFunc(pending, func(x, y Job) int {
			return cmp.Or(cmp.Compare(priority(x), priority(y)), cmp.Compare(weights[x.ID], weights[y.ID]),
				cmp.Compare(x.ID, y.ID))
		})
		next := slices.IndexFunc(pending, func(j Job) bool {
			for _, r := range running {
				if is, _ := Conflicts(j.Locks, r.Locks); is {
					return false
				}
			}
			for _, first := range pending {
				if first.ID == j.ID {
					break
				}
				if is, _ := Conflicts(j.Locks, first.Locks); is && aged(first) && in.Policy.Order.reserves() {
					return false
				}
			}
			return true
		})
		if next < 0 {
			break
		}
		picks = append(picks, pending[next].ID)
		running = append(running, pending[next])
		pending = slices.Delete(pending, next, next+1)
	}
	return picks
}

// inputs are queues with jobs of every age and priority; running ones do not conflict.
func inputs() *rapid.Generator[Input] {
	return rapid.Custom(func(t *rapid.T) Input {
		in := Input{Policy: DefaultPolicy, Now: epoch, Free: rapid.IntRange(0, 6).Draw(t, "free")}
		in.Policy.Levels = testLevels
		in.Policy.Order = rapid.SampledFrom([]Order{Predictive, FIFO, Greedy}).Draw(t, "order")
		if rapid.IntRange(0, 5).Draw(t, "no ageing") == 0 {
			in.Policy.Constants.AgeingTicks = 0
		}
		waits := []time.Duration{-time.Minute, 0, time.Second, 10 * time.Minute, 15 * time.Minute, time.Hour, 5 * time.Hour}
		var running []Set
		for i, s := range rapid.SliceOfN(sets(), 0, 14).Draw(t, "jobs") {
			j := ago(ID(i+1), rapid.SampledFrom(waits).Draw(t, "waited"), s)
			j.Priority = rapid.IntRange(-1, 1).Draw(t, "priority")
			if rapid.IntRange(0, 3).Draw(t, "runs") == 0 && !slices.ContainsFunc(running,
				func(r Set) bool { is, _ := Conflicts(r, s); return is }) {
				in.Running, running = append(in.Running, j), append(running, s)
				continue
			}
			in.Pending = append(in.Pending, j)
		}
		return in
	})
}

func TestSelect_IsWhatIsTold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "in")
		if got, want := picked(Select(in)), naive(in); !slices.Equal(got, want) {
			t.Fatalf("picked %v, and should %v", got, want)
		}
	})
}

func TestSelect_NoTwoThatRunConflictAndEveryOtherHasAReason(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "in")
		d := Select(in)
		runs := slices.Clone(in.Running)
		for _, j := range in.Pending {
			if slices.Contains(picked(d), j.ID) {
				runs = append(runs, j)
			} else if d.Waits[j.ID].Code == "" {
				t.Fatalf("%d waits, and nothing says why", j.ID)
			}
		}
		if len(d.Picks)+len(d.Waits) != len(in.Pending) || len(d.Picks) > max(0, in.Free) {
			t.Fatalf("%+v", d)
		}
		for i, x := range runs {
			for _, y := range runs[:i] {
				if is, why := Conflicts(x.Locks, y.Locks); is {
					t.Fatalf("%d beside %d: %v", x.ID, y.ID, why)
				}
			}
		}
	})
}

func TestSelect_DependsOnTheValuesAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "in")
		d := Select(in)
		luck := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		luck.Shuffle(len(in.Pending), func(i, j int) { in.Pending[i], in.Pending[j] = in.Pending[j], in.Pending[i] })
		luck.Shuffle(len(in.Running), func(i, j int) { in.Running[i], in.Running[j] = in.Running[j], in.Running[i] })
		if again := Select(in); !slices.Equal(picked(again), picked(d)) || !maps.Equal(again.Waits, d.Waits) {
			t.Fatalf("%+v, then %+v", d, again)
		}
	})
}

func TestRank_ThePlacesOfWhoWaits(t *testing.T) {
	t.Parallel()
	in := []Job{ago(1, 0, set(t, "big")), ago(2, 0, Set{}), ago(3, time.Hour, set(t, "big")),
		ago(4, 450*time.Second, set(t, "big"))}
	list := Rank(in, nil, DefaultPolicy, epoch)
	got := []ID{list[0].ID, list[1].ID, list[2].ID, list[3].ID}
	if !slices.Equal(got, []ID{3, 2, 4, 1}) || list[2].Weight.Weight != 8 || !list[0].Aged || list[0].Priority != -2 {
		t.Errorf("%+v", list)
	}
	if Rank(in, nil, Policy{Order: FIFO, Constants: GanetiConstants, Levels: GanetiLevels}, epoch)[1].ID != 1 {
		t.Error("fifo weighs nothing")
	}
}

// backlogOf is n pending jobs on some locks, with 200 running that hold others.
func backlogOf(t testing.TB, n, locks int, same bool) Input {
	in := Input{Policy: DefaultPolicy, Now: epoch, Free: 4}
	in.Policy.Levels = Levels{"a", "b", "c"}
	for i := range 200 {
		in.Running = append(in.Running, ago(ID(i), 0, set(t, "a:"+strconv.Itoa(i%locks)+"=shared", "b:"+strconv.Itoa(i)+"=exclusive")))
	}
	for i := range n {
		texts := []string{"a:" + strconv.Itoa(i%locks) + "=exclusive"}
		if !same {
			texts = append(texts, "c:"+strconv.Itoa(i)+"=exclusive")
		}
		in.Pending = append(in.Pending, ago(ID(1000+i), time.Duration(i)*time.Millisecond, set(t, texts...)))
	}
	return in
}

// 10,000 pending on 100 locks, beside 200 that run: jobs of the same locks stand
// or fall together.
func BenchmarkSelect(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		for _, same := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d pending, same locks %v", n, same), func(b *testing.B) {
				in := backlogOf(b, n, 100, same)
				b.ReportAllocs()
				for b.Loop() {
					Select(in)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pending")
			})
		}
	}
}

func TestDecision_SaysNothingOfWhoIsNotThere(t *testing.T) {
	t.Parallel()
	if d := Select(Input{Policy: DefaultPolicy, Now: epoch, Free: 1}); len(d.Picks) != 0 ||
		!reflect.DeepEqual(d.Waits, map[ID]Reason{}) {
		t.Errorf("%+v", d)
	}
}
