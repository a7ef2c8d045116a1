package workflow

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/scheduler/cron"
)

func at(t *testing.T, clock string) time.Time {
	t.Helper()
	if clock == "" {
		return time.Time{}
	}
	v, err := time.Parse("15:04:05", clock)
	if err != nil {
		t.Fatal(err)
	}
	return v.AddDate(2026, 0, 0)
}

func TestDue_Table(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		why, spec  string
		catchUp    CatchUp
		next, now  string
		fire, look string
	}{
		{"a new sensor waits for its first slot", "0 * * * *", "", "", "10:00:00", "", "11:00:00"},
		{"not yet", "0 * * * *", "", "11:00:00", "10:59:59", "", "11:00:00"},
		{"on time", "0 * * * *", "", "11:00:00", "11:00:00", "11:00:00", "12:00:00"},
		{"a little late is on time", "0 * * * *", CatchUpNone, "11:00:00", "11:00:59", "11:00:00", "12:00:00"},
		{"each slot of a takeover", "* * * * * *", CatchUpOne, "11:00:00", "11:00:03", "11:00:00 11:00:01 11:00:02 11:00:03", "11:00:04"},
		{"missed, one", "0 * * * *", CatchUpOne, "03:00:00", "11:30:00", "11:00:00", "12:00:00"},
		{"missed by default", "0 * * * *", "", "03:00:00", "11:30:00", "11:00:00", "12:00:00"},
		{"missed, none", "0 * * * *", CatchUpNone, "03:00:00", "11:30:00", "", "12:00:00"},
		{"missed, all", "0 * * * *", CatchUpAll, "08:00:00", "11:30:00", "08:00:00! 09:00:00! 10:00:00! 11:00:00!", "12:00:00"},
		{"missed, and one on time", "0 * * * *", CatchUpOne, "08:00:00", "11:00:30", "10:00:00 11:00:00", "12:00:00"},
		{"missed none, and one on time", "0 * * * *", CatchUpNone, "08:00:00", "11:00:30", "11:00:00", "12:00:00"},
		{"missed all, and one on time", "0 * * * *", CatchUpAll, "10:00:00", "11:00:30", "10:00:00! 11:00:00!", "12:00:00"},
		{"late by seconds, all", "*/2 * * * * *", CatchUpAll, "11:00:00", "11:00:07", "11:00:00! 11:00:02! 11:00:04! 11:00:06!", "11:00:08"},
		{"late by seconds, none: that of now", "*/2 * * * * *", CatchUpNone, "11:00:00", "11:00:07", "11:00:06", "11:00:08"},
		{"none, each half minute", "*/30 * * * * *", CatchUpNone, "11:00:00", "11:01:10", "11:01:00", "11:01:30"},
		{"none, and not yet", "*/30 * * * * *", CatchUpNone, "11:00:00", "10:59:59", "", "11:00:00"},
	} {
		s, err := cron.Parse(x.spec, "")
		if err != nil {
			t.Fatal(err)
		}
		fire, look, ok := Due(s, x.catchUp, at(t, x.next), at(t, x.now))
		got := ""
		for i, f := range fire {
			if i > 0 {
				got += " "
			}
			got += f.At.Format("15:04:05")
			if f.Caught {
				got += "!"
			}
		}
		if !ok || got != x.fire || look.Format("15:04:05") != x.look {
			t.Errorf("%s: fires %q, looks at %s; want %q, %s", x.why, got, look.Format("15:04:05"), x.fire, x.look)
		}
	}
}

// Whenever anybody looks: no slot fires twice, none fires before its time, none is
// passed over that was looked at within a minute; with all, none is at all, and
// with one, there is one for each pause. With none, none fires after the next has come.
func TestDue_LosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.IntRange(1, 600).Draw(t, "every")) * time.Second
		catchUp := rapid.SampledFrom([]CatchUp{CatchUpOne, CatchUpAll, CatchUpNone}).Draw(t, "catch up")
		now := time.Unix(1_800_000_000, 0).UTC()
		begin := now
		_, next, _ := Due(beat(d), catchUp, time.Time{}, now)
		var fired []time.Time
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			pause := time.Duration(rapid.IntRange(0, 100_000).Draw(t, "ms")) * time.Millisecond
			now = now.Add(pause)
			was := next
			var fire []Slot
			for { // as the caller does: on until nothing is due
				var some []Slot
				some, next, _ = Due(beat(d), catchUp, next, now)
				fire = append(fire, some...)
				if next.After(now) {
					break
				}
			}
			if catchUp == CatchUpOne && !was.After(now) && len(fire) == 0 {
				t.Fatalf("nothing fires at %s, and %s was due", now, was)
			}
			for _, f := range fire {
				if f.At.After(now) || f.Caught != (catchUp == CatchUpAll) {
					t.Fatalf("%+v at %s", f, now)
				}
				if late := now.Sub(f.At); catchUp == CatchUpNone && (late > Late || late >= d) {
					t.Fatalf("%s fires at %s, which is %s late", f.At, now, late)
				}
				fired = append(fired, f.At)
			}
			for slot := was; !slot.After(now); slot = slot.Add(d) {
				late := now.Sub(slot)
				if late <= Late && (catchUp != CatchUpNone || late < d) &&
					!slices.ContainsFunc(fire, func(f Slot) bool { return f.At.Equal(slot) }) {
					t.Fatalf("%s was due at %s, and did not fire", slot, now)
				}
			}
		}
		for i := 1; i < len(fired); i++ {
			if !fired[i].After(fired[i-1]) {
				t.Fatalf("%s after %s", fired[i], fired[i-1])
			}
		}
		if catchUp == CatchUpAll {
			want := 0
			for slot := begin.Truncate(d).Add(d); !slot.After(now); slot = slot.Add(d) {
				want++
			}
			if len(fired) != want {
				t.Fatalf("%d fired of %d", len(fired), want)
			}
		}
	})
}

// Years of missed seconds are no work.
func TestDue_AfterYears(t *testing.T) {
	t.Parallel()
	s, err := cron.Parse("* * * * * *", "Europe/Prague")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	begin := time.Now()
	fire, _, _ := Due(s, CatchUpOne, now.AddDate(-9, 0, 0), now)
	if took := time.Since(begin); len(fire) != 62 || took > 5*time.Second {
		t.Errorf("%d in %s", len(fire), took)
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]Part{
		"":                               nil,
		"plain $1 $":                     {{Text: "plain $1 $"}},
		"a ${B} c":                       {{Text: "a "}, {Text: "${B}", Parameter: "B"}, {Text: " c"}},
		"$${B}":                          {{Text: "${"}, {Text: "B}"}},
		"$$${B}":                         {{Text: "$${"}, {Text: "B}"}},
		"${B}${C}":                       {{Text: "${B}", Parameter: "B"}, {Text: "${C}", Parameter: "C"}},
		"x${steps.a.result}":             {{Text: "x"}, {Text: "${steps.a.result}", Step: "a"}},
		"${steps.a.b.result.c}":          {{Text: "${steps.a.b.result.c}", Step: "a.b"}},
		"${steps.a-1.result.result.x.0}": {{Text: "${steps.a-1.result.result.x.0}", Step: "a-1"}},
		"$${steps.a.result}":             {{Text: "${"}, {Text: "steps.a.result}"}},
		"${steps.a}":                     {{Text: "${", Open: true}, {Text: "steps.a}"}},
		"${steps.a.result.}":             {{Text: "${", Open: true}, {Text: "steps.a.result.}"}},
		"${":                             {{Text: "${", Open: true}},
		"${a b}":                         {{Text: "${", Open: true}, {Text: "a b}"}},
		"x${1} ${ok_}":                   {{Text: "x"}, {Text: "${", Open: true}, {Text: "1} "}, {Text: "${ok_}", Parameter: "ok_"}},
	} {
		if got := Parts(s); !slices.Equal(got, want) {
			t.Errorf("%q: %+v, want %+v", s, got, want)
		}
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	steps := []Step{{Name: "a"}, {Name: "b", After: []string{"a"}}, {Name: "c"}, {Name: "d", After: []string{"b", "c"}}}
	for name, want := range map[string][]string{"a": {"a", "b", "d"}, "b": {"b", "d"}, "c": {"c", "d"}, "d": {"d"}} {
		if got, err := From(steps, name); err != nil || !slices.Equal(got, want) {
			t.Errorf("from %s: %v, %v", name, got, err)
		}
	}
	if _, err := From(steps, "e"); err == nil {
		t.Error("there is no e")
	}
}
