package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// Scripts tell the story of one gate or one child: what happens to it, and below the line its state and what is to be
// done. They read like the protocol; the tables hold each event in each state. `go test ./scheduler -rewrite` writes
// them again: look at the difference.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "gate":
				return gateStory(t, d)
			case "child":
				return childStory(t, d)
			}
			d.Fatalf(t, "there is no story of a %s", d.Cmd)
			return ""
		})
	})
}

// gateStory has a line for each event: quiet, busy, tick, and shut or ended with the number of an ask behind it, if
// that is not the last one.
func gateStory(t *testing.T, d *datadriven.TestData) string {
	var g Gate
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		ev := GateEvent{Ask: g.Ask}
		i := slices.IndexFunc(gateKinds, func(k GateEventKind) bool { return gateWords[k] == words[0] })
		if i < 0 {
			d.Fatalf(t, "%q is not an event of a gate", words[0])
		}
		if ev.Kind = gateKinds[i]; len(words) > 1 {
			ev.Ask = number[int](t, d, words[1])
		}
		var effects []GateEffect
		g, effects = g.Step(ev)
		var does []string
		for _, e := range effects {
			does = append(does, gateDoes[e])
		}
		story := fmt.Sprintf("%-8s %-6s %s", strings.TrimSpace(line), g.State, strings.Join(does, ", "))
		out.WriteString(strings.TrimRight(story, " ") + "\n")
	}
	return out.String()
}

func number[T ~int | ~int64](t *testing.T, d *datadriven.TestData, word string) T {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return T(n)
}

// childStory has a line for each event: the time since the last one, if it is not 0; the event; the jobs of its lines,
// and words: failed CODE, now, or why a child is told to go.
func childStory(t *testing.T, d *datadriven.TestData) string {
	c := Child{Name: "work.1", Host: "local", Since: noon, Began: noon, Rules: Rules{StartTimeout: time.Minute,
		Idle: 15 * time.Minute, KillAfter: 20 * time.Second, Timeout: time.Minute}}
	now := noon
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		ev, later := childEvent(t, d, strings.TrimSpace(line))
		now = now.Add(later)
		var effects []Effect
		c, effects = c.Step(ev, now)
		fmt.Fprintf(&out, "%-28s %s%s\n", strings.TrimSpace(line), c.State, jobs(c.Lines))
		for _, e := range effects {
			fmt.Fprintf(&out, "%29s%s\n", "", effectWords(e))
		}
	}
	return out.String()
}

func childEvent(t *testing.T, d *datadriven.TestData, line string) (ev ChildEvent, later time.Duration) {
	if span, rest, is := strings.Cut(strings.TrimPrefix(line, "+"), " "); is && line[0] == '+' {
		var err error
		if later, err = time.ParseDuration(span); err != nil {
			d.Fatalf(t, "%v", err)
		}
		line = rest
	}
	known := -1
	for k, name := range eventNames {
		if (line == name || strings.HasPrefix(line, name+" ")) && (known < 0 || len(name) > len(eventNames[known])) {
			known = k
		}
	}
	if known < 0 {
		d.Fatalf(t, "%q is not an event of a child", line)
	}
	ev.Kind, ev.OK = EventKind(known), true
	words := strings.Fields(strings.TrimPrefix(line, eventNames[known]))
	for i, w := range words {
		if stop := slices.Index(stopNames[:], w); stop > 0 && w != "failed" {
			ev.Stop = StopReason(stop)
			continue
		}
		switch w {
		case "now":
			ev.Now = true
		case "failed":
			ev.OK, ev.ExitCode, ev.Error = false, number[int](t, d, words[i+1]), "exit status "+words[i+1]
		default:
			if i > 0 && words[i-1] == "failed" {
				continue
			}
			ev.Claim = Claim{Job: number[JobID](t, d, w), Fence: 1}
			ev.Lines = append(ev.Lines, Line{Claim: ev.Claim})
		}
	}
	return ev, later
}

func jobs(lines []Line) string {
	var list string
	for _, l := range lines {
		list += fmt.Sprintf(" #%d", l.Claim.Job)
	}
	return list
}

func effectWords(e Effect) string {
	text := e.Kind.String() + jobs(e.Lines)
	switch e.Kind {
	case EffectSettle:
		text += fmt.Sprintf(" #%d %s", e.Result.Line.Claim.Job, e.Result.Outcome)
		if e.Result.Error != "" {
			text += ": " + e.Result.Error
		}
	case EffectDied, EffectUnguarded:
		text += ": " + e.Account.Reason
	}
	return text
}
