package lock

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// byType reads how long a job takes out of its type.
func byType(typ string) (time.Duration, time.Duration, bool) {
	d, err := time.ParseDuration(typ)
	return d, d, err == nil
}

// Three jobs want a lock alone and one wants all of its level shared: all weigh the same behind the holder, and the
// ids decide, whether a job without locks runs beside them, waits beside them, or neither.
func TestPredict_AJobWithoutLocksWeighsNothingForOthers(t *testing.T) {
	t.Parallel()
	nine := set(t, "a:9=exclusive")
	job := func(id ID, typ string, s Set) Job { return Job{ID: id, Type: typ, Locks: s, Since: epoch} }
	running := []RunningJob{{job(1, "4s", nine), epoch}}
	pending := []Job{job(2, "4s", nine), job(3, "4s", nine), job(4, "4s", set(t, "a:*=shared"))}
	for name, c := range map[string]struct {
		running []RunningJob
		pending []Job
	}{
		"none":       {nil, nil},
		"one runs":   {[]RunningJob{{job(9, "7s", Set{}), epoch}}, nil},
		"one waits":  {nil, []Job{job(8, "30s", Set{})}},
		"both":       {[]RunningJob{{job(9, "7s", Set{}), epoch}}, []Job{job(8, "30s", Set{})}},
		"a long one": {[]RunningJob{{job(9, "1h", Set{}), epoch}}, nil},
	} {
		got := Predict(slices.Concat(pending, c.pending), slices.Concat(running, c.running), Room{Slots: 8},
			policyOf(Predictive), epoch, byType)
		for id, want := range map[ID]time.Duration{2: 4 * sec, 3: 8 * sec, 4: 12 * sec} {
			if starts := got[id].P50.Sub(epoch); starts != want {
				t.Errorf("%s: job %d is to start after %s, and not %s", name, id, starts, want)
			}
		}
	}
}

// dispatched is when jobs start as passes choose, on the locks that stand in the database: no pass is told of a job
// without locks, which only takes a slot until its end.
func dispatched(pending []Job, running []RunningJob, slots int, p Policy) map[ID]time.Time {
	ends, held, starts := map[ID]time.Time{}, map[ID][]Grant{}, map[ID]time.Time{}
	takes := func(j Job) time.Duration { d, _, _ := byType(j.Type); return d }
	for _, r := range running {
		ends[r.ID], held[r.ID] = r.Started.Add(takes(r.Job)), grants(r.Job, nil)
	}
	waiting := slices.Clone(pending)
	for now := epoch; len(waiting) > 0; now = now.Add(sec) {
		pass := Pass{Now: now, Most: map[string]int{}}
		for id, at := range ends {
			if !at.After(now) {
				delete(ends, id)
				delete(held, id)
			}
			pass.Held = append(pass.Held, held[id]...)
		}
		pass.Total = slots - len(ends)
		for _, j := range waiting {
			pass.Most[j.Type] = pass.Total
			pass.Waiting = append(pass.Waiting, Waiting{Job: j.ID, Type: j.Type, Agent: j.Type, Priority: j.Priority,
				Since: j.Since, Locks: j.Locks.Text()})
		}
		for _, s := range p.Choose(pass).Start {
			i := slices.IndexFunc(waiting, func(j Job) bool { return j.ID == s.Job })
			starts[s.Job], ends[s.Job], held[s.Job] = now, now.Add(takes(waiting[i])), s.Grants
			waiting = slices.Delete(waiting, i, i+1)
		}
	}
	return starts
}

// What Predict says is what passes do, with jobs without locks beside them and without any.
func TestPredict_IsWhatPassesDo(t *testing.T) {
	t.Parallel()
	beside := 0
	rapid.Check(t, func(t *rapid.T) {
		var pending []Job
		var running []RunningJob
		var held []Set
		takes := func() string { return fmt.Sprintf("%ds", rapid.IntRange(1, 9).Draw(t, "takes")) }
		for i, s := range rapid.SliceOfN(sets(), 1, 20).Draw(t, "jobs") {
			j := Job{ID: ID(i + 1), Type: takes(), Locks: s, Since: epoch,
				Priority: rapid.SampledFrom([]int{-20, -1, 0, 0, 0, 19}).Draw(t, "priority")}
			runs := rapid.IntRange(0, 3).Draw(t, "runs") == 0
			switch {
			case runs && !slices.ContainsFunc(held, func(r Set) bool { is, _ := Conflicts(r, s); return is }):
				running, held = append(running, RunningJob{j, epoch}), append(held, s)
			case !s.Empty(): // ordinary claims start the others
				pending = append(pending, j)
			}
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "beside") {
			beside++
			running = append(running, RunningJob{Job{ID: ID(100 + i), Type: takes(), Since: epoch}, epoch})
		}
		slots := len(running) + rapid.IntRange(0, 3).Draw(t, "slots")
		if slots == 0 || len(pending) == 0 {
			return
		}
		p := quick(rapid.SampledFrom([]Order{Predictive, FIFO, Greedy}).Draw(t, "order"))
		want := dispatched(pending, running, slots, p)
		for id, e := range Predict(pending, running, Room{Slots: slots}, p, epoch, byType) {
			if at, is := want[id]; !is || !e.P50.Equal(at) {
				t.Fatalf("%s: job %d is to start after %s, and passes start it after %s", p.Order, id,
					e.P50.Sub(epoch), cmp.Or(at, epoch).Sub(epoch))
			}
			delete(want, id)
		}
		if len(want) > 0 {
			t.Fatalf("not foretold: %v", want)
		}
	})
	t.Logf("%d jobs without locks ran beside others", beside)
}
