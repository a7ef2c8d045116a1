package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPercentile_IsTheNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i) // 100 … 1: it has to sort
	}
	for _, c := range []struct {
		of   []float64
		p    float64
		want float64
	}{
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
		{[]float64{7}, 0.5, 7}, {[]float64{7}, 0.99, 7}, {[]float64{3, 1, 2}, 0.5, 2}, {[]float64{2, 1}, 0.5, 1},
	} {
		if got := percentile(c.of, c.p); got != c.want {
			t.Errorf("percentile(%v, %v) = %v, want %v", c.of, c.p, got, c.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("percentile sorted what it was given")
	}
}

func TestMedian_OfAnEvenCountIsTheMeanOfTheTwoInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{4}, 4}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.of); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.of, got, c.want)
		}
	}
}

// A ratio is taken within a round: what only one of two has done counts nothing.
func TestRatios_AreTakenRoundByRound(t *testing.T) {
	t.Parallel()
	got := ratios(map[int]float64{1: 10, 2: 30, 3: 7, 4: 8}, map[int]float64{1: 5, 2: 10, 4: 0, 5: 1})
	slices.Sort(got)
	if !slices.Equal(got, []float64{2, 3}) {
		t.Errorf("ratios = %v, want 2 and 3", got)
	}
}

// The median of the ratios, not the ratio of the medians: a slow round is slow
// for both.
func TestGoalTable_JudgesTheMedianOfTheRoundsRatios(t *testing.T) {
	t.Parallel()
	const drain = "drain of 50,000 waiting no-op jobs"
	var figures []figure
	for round, v := range [][2]float64{{100, 50}, {10, 4}, {90, 60}} { // 2, 2.5, 1.5
		figures = append(figures, figure{round, drain, "bellhop", v[0], "jobs/s"}, figure{round, drain, "River best", v[1], "jobs/s"})
	}
	table := goalTable(collect(figures))
	if want := "| " + drain + " | 90.0 jobs/s | River best 50.0 jobs/s | 2.00 (1.50–2.50) | ≥ 2.00 | met |\n"; !strings.Contains(
		table, want) {
		t.Errorf("the table is\n%s, want a line\n%s", table, want)
	}
	if strings.Contains(table, "reference") {
		t.Errorf("a goal against what was not measured is judged:\n%s", table)
	}
	figures = append(figures, figure{3, drain, "reference", 100, "jobs/s"}, figure{2, drain, "reference", 5, "jobs/s"})
	for i := range figures {
		if figures[i].Program == "bellhop" {
			figures[i].Value = 4
		}
	}
	if table := goalTable(collect(figures)); strings.Count(table, "**not met**") != 2 {
		t.Errorf("both goals are missed:\n%s", table)
	}
}

func TestGoals_NameOneBoundEach(t *testing.T) {
	t.Parallel()
	for _, g := range goals {
		if g.atLeast > 0 && g.atMost > 0 {
			t.Errorf("%s has two bounds", g.measure)
		}
	}
	if g := (goal{atMost: 0}); !g.met(0) || g.met(1) {
		t.Error("none at all is not what atMost 0 asks for")
	}
}

func TestNumber_KeepsThreeDigits(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0.00", 0.123: "0.12", 9.99: "9.99", 12.34: "12.3", 123.4: "123", 64321: "64.3 k"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestInTurn_TurnsRoundEverySecondRound(t *testing.T) {
	t.Parallel()
	for round, want := range map[int]string{1: "abc", 2: "cba", 3: "abc"} {
		var got string
		step := func(s string) func() error { return func() error { got += s; return nil } }
		if err := inTurn(round, step("a"), step("b"), step("c")); err != nil || got != want {
			t.Errorf("round %d went %s, %v, want %s", round, got, err, want)
		}
	}
}

func TestQueueIndexes_RefusesAScanOfTheWholeQueue(t *testing.T) {
	t.Parallel()
	good := `[{"Plan": {"Node Type": "ModifyTable", "Relation Name": "jobqueue", "Plans": [
		{"Node Type": "Index Scan", "Relation Name": "jobqueue", "Index Name": "jobqueue_pkey"},
		{"Node Type": "Limit", "Plans": [{"Node Type": "Index Scan", "Relation Name": "jobqueue", "Index Name": "jobqueue_ready"}]},
		{"Node Type": "Seq Scan", "Relation Name": "instance"}]}}]`
	if got, err := queueIndexes(good); err != nil || !slices.Equal(got, []string{"jobqueue_pkey", "jobqueue_ready"}) {
		t.Errorf("indexes are %v, %v", got, err)
	}
	for name, bad := range map[string]string{
		"a sequential scan": strings.Replace(good, `"Index Scan", "Relation Name": "jobqueue", "Index Name": "jobqueue_ready"`, `"Seq Scan", "Relation Name": "jobqueue"`, 1),
		"no queue":          `[{"Plan": {"Node Type": "Result"}}]`,
		"no plan":           `{}`,
	} {
		if _, err := queueIndexes(bad); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestParameters_CountsTheHighest(t *testing.T) {
	t.Parallel()
	if got := parameters("select $2, $11, $1"); got != 11 {
		t.Errorf("parameters = %d, want 11", got)
	}
}

func TestUntilLook_FewLooksAndNoneLate(t *testing.T) {
	const most = 10_000
	for _, rate := range []int{100, 1000, 40_000} { // a second
		var at time.Duration
		looks, over := 0, time.Duration(most)*time.Second/time.Duration(rate)
		for at < over {
			looks++
			at += untilLook(most, most-int(at*time.Duration(rate)/time.Second), at)
		}
		if looks > 30 || at-over > 5*time.Millisecond+over/100 {
			t.Errorf("%d a second: %d looks, and late by %s of %s", rate, looks, at-over, over)
		}
	}
}
