package observability

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLogger_WritesDurationsAndErrorsForPeople(t *testing.T) {
	t.Parallel()
	for _, pretty := range []bool{false, true} {
		var out bytes.Buffer
		log := Logger(&out, slog.LevelInfo, pretty)
		refused := errors.New("failed to connect:\n\t127.0.0.1:1: refused\n\t127.0.0.1:1: refused\n\t[::1]:1: refused")
		log.With(
			"lag",
			10*time.Second,
		).WithGroup("g").Info("x", "for", 1500*time.Millisecond, "long", 61*time.Second+3*time.Millisecond, "error", refused)
		for _, want := range []string{"10s", "1.5s", "1m1s", "failed to connect: 127.0.0.1:1: refused; [::1]:1: refused"} {
			if strings.Count(out.String(), want) != 1 {
				t.Errorf("pretty %t: not once %q in %s", pretty, want, out.String())
			}
		}
	}
}

var errAway = errors.New("away")

// outage is one on a clock that is moved by hand, and what it has logged.
func outage(t *testing.T) (o *Outage, log *slog.Logger, pass func(time.Duration), lines func() []map[string]any) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var out bytes.Buffer
	o = NewOutage(func(err error) bool { return errors.Is(err, errAway) })
	o.now = func() time.Time { return now }
	log = o.Through(Logger(&out, slog.LevelInfo, false))
	return o, log, func(d time.Duration) { now = now.Add(d) }, func() (list []map[string]any) {
		for line := range strings.Lines(out.String()) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			list = append(list, m)
		}
		out.Reset()
		return list
	}
}

func TestOutage_IsOneStory(t *testing.T) {
	t.Parallel()
	o, log, pass, lines := outage(t)
	for range 2 * 600 { // ten minutes, two warnings a second, as there were
		log.With("part", "x").Warn("cannot claim", "error", errAway)
		pass(500 * time.Millisecond)
	}
	away := lines()
	// 1 + 2 + 4 + … 60 s, then each minute.
	if len(away) < 8 || len(away) > 16 {
		t.Errorf("%d lines in ten minutes", len(away))
	}
	if away[0]["level"] != "WARN" || away[0]["what"] != "cannot claim" || !strings.HasPrefix(away[0]["msg"].(string), "the database is away") {
		t.Errorf("first line: %v", away[0])
	}
	if away[1]["for"] != "1s" || away[1]["tries"] != 2.0 {
		t.Errorf("second line: %v", away[1])
	}
	o.Back()
	pass(outageSettle)
	o.Back()
	o.Back()
	if back := lines(); len(back) != 1 || back[0]["msg"] != "the database is back" || back[0]["away"] != "10m0s" {
		t.Errorf("back: %v", back)
	}
}

// A heartbeat gets through; 86 ms later a try fails that began during the outage.
func TestOutage_LateErrorsBelongToTheOutageBeforeThem(t *testing.T) {
	t.Parallel()
	o, log, pass, lines := outage(t)
	log.Warn("cannot beat", "error", errAway)
	pass(16 * time.Second)
	o.Back()
	pass(86 * time.Millisecond)
	log.Warn("cannot claim", "error", errAway)
	o.Back()
	pass(1500 * time.Millisecond)
	log.Warn("cannot listen", "error", errAway)
	o.Back()
	pass(500 * time.Millisecond)
	o.Back()
	pass(500 * time.Millisecond)
	o.Back()
	var said []string
	for _, line := range lines() {
		said = append(said, line["msg"].(string))
	}
	want := []string{
		"the database is away: what agents do is kept, and nothing new begins",
		"the database answers some connections and not others",
		"the database is back",
	}
	if !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}

func TestOutage_LeavesOtherLinesAlone(t *testing.T) {
	t.Parallel()
	o, log, pass, lines := outage(t)
	log.Warn("cannot claim", "error", errAway)
	log.Warn("child died", "error", errors.New("signal"))
	log.Info("instance registered", "instance", 7)
	o.Back()
	pass(outageSettle)
	o.Back()
	if got := lines(); len(got) != 4 || got[1]["error"] != "signal" || got[2]["instance"] != 7.0 {
		t.Errorf("got %v", got)
	}
}

func TestOutage_ThatComesAndGoesIsPacedToo(t *testing.T) {
	t.Parallel()
	o, log, pass, lines := outage(t)
	for range 600 { // one of several ways to it stays shut, another does not
		log.Warn("cannot connect", "error", errAway)
		o.Back()
		pass(time.Second)
	}
	if got := len(lines()); got > 40 {
		t.Errorf("%d lines in ten minutes", got)
	}
	pass(2 * outageMost) // long ago: the next is told at once
	log.Warn("cannot connect", "error", errAway)
	if got := lines(); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}
