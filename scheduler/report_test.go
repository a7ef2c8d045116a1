package scheduler

import (
	"strings"
	"testing"
	"time"
)

func TestSummary_OneLineAndALineAChild(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	s := Summary{At: now, Instance: 7, Held: 3,
		Hosts: []HostReport{{Name: "local", Slots: 4, Taken: 3, Waiting: 2}, {Name: "big", Slots: 8, Taken: 1}},
		Children: []ChildReport{
			{Host: "local", Name: "b.1", State: Busy, Since: now.Add(-1500 * time.Millisecond), Job: 42, Pid: 77, Done: 10, Deaths: 1},
			{Host: "local", Name: "a.1", State: ChildReady, Since: now, Deaths: 2}, {Host: "big", Name: "z.1", State: Fail, Since: now}},
		MSQs: []MSQReport{{Waiting: 900}}}
	want := `summary: running 1, waiting 902, dead 3; ready 1, coming up 0, going 0, failing 1; slots 12 on 2 hosts; jobs held 3, queries 1; instance 7
  child z.1 on big: FAIL for 0s, done 0, deaths 0
  child a.1 on local: READY for 0s, done 0, deaths 2
  child b.1 on local: RUNNING for 1.5s, job 42, pid 77, done 10, deaths 1
`
	if got := s.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMSQReport_IsOneBoundedLine(t *testing.T) {
	t.Parallel()
	m := MSQReport{
		Claim:    Claim{5, 2},
		Type:     "a",
		Round:    3,
		Items:    Items{-1, 10, 1},
		Waiting:  2000,
		InFlight: 4,
		Reading:  true,
		Query:    "select\n  n" + strings.Repeat(" , x", 10_000),
	}
	text := m.Message()
	if !strings.HasPrefix(text, "msq job 5 (a), fence 2, round 3: items done 10, failed 1, of ?; waiting 2000, in children 4; reading; select n , x") ||
		strings.Contains(text, "\n") || len(text) > 400 {
		t.Errorf("it says %s", text)
	}
	m.Items.Total, m.Ended, m.Places = 11, true, map[string]int{"x": 1}
	if text = m.Message(); !strings.Contains(text, "of 11;") || !strings.Contains(text, "all rows read; at 1 places;") {
		t.Errorf("it says %s", text)
	}
}
