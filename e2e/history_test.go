package e2e

import (
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestHistory_AddsUpByTypeAndHour: over minutes and instances, with percentiles, as a table, CSV and JSON.
func TestHistory_AddsUpByTypeAndHour(t *testing.T) {
	t.Parallel()
	e := setup(t)
	if r := e.run("history"); r.code != 0 || !strings.Contains(r.stderr, "no job ended within") {
		t.Errorf("%+v", r)
	}
	// 160 is the bucket of 1.024 ms, 16 to an octave: see scheduler/sketch.
	e.sql(`insert into bellhop.history (minute, type, instance, taken, succeeded, failed, cancelled, retried, items_done, items_failed, wait, run)
		select date_trunc('hour', now()) - h * interval '1 hour' + m * interval '1 minute', t, i, 10, 9, 1, 0, 2, 5, 0, '{160,9,240,1}', '{160,10}'
		  from unnest('{1,2}'::int[]) h, unnest('{0,30}'::int[]) m, unnest('{1,2}'::int[]) i, unnest('{mail,load}'::text[]) t`)
	records, err := csv.NewReader(strings.NewReader(e.ok("history", "--csv", "--since", "12h"))).ReadAll()
	if err != nil || len(records) != 5 {
		t.Fatalf("%v: %q", err, records)
	}
	if want := []string{"load", "40", "36", "4", "0", "8", "20", "0"}; !slices.Equal(records[1][1:9], want) {
		t.Errorf("%q, want %q", records[1][1:9], want)
	}
	if p50, p99 := records[1][9], records[1][11]; p50 >= p99 || p50 == "" || records[1][12] != records[1][14] {
		t.Errorf("percentiles %q", records[1][9:])
	}
	var spans []struct {
		Type    string
		Taken   int
		WaitP50 *float64 `json:"wait_p50"`
	}
	days := e.ok("history", "-t", "mail", "--by", "day", "--since", "720h", "-o", "json")
	if err := json.Unmarshal([]byte(days), &spans); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, s := range spans {
		if s.Type != "mail" || s.WaitP50 == nil {
			t.Errorf("%+v", s)
		}
		taken += s.Taken
	}
	if taken != 80 || len(spans) > 2 {
		t.Errorf("%+v", spans)
	}
	has(t, e.ok("history"), "WAIT_P99", "mail", "load")
	for _, args := range [][]string{{"history", "--by", "week"}, {"history", "--since", "-1h"}, {"history", "x"}} {
		if r := e.run(args...); r.code != 2 {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
