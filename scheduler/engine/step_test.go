package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	rules = Defaults
	noon  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// Every state with every event: what comes of it, and what is done. What is not here changes nothing.
func TestStep_EveryStateWithEveryEvent(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"looking/no tag":       "waiting",
		"looking/has tag":      "running",
		"waiting/turn":         "recording record",
		"recording/recorded":   "submitting submit",
		"submitting/accepted":  "running save",
		"submitting/denied":    "ended save",
		"submitting/unclear":   "unsure pause",
		"submitting/unopened":  "ended save",
		"unsure/found":         "running save",
		"running/seen":         "running save",
		"killing/tick":         "killing kill",
		"ended/saved":          "ended",
		"ended/logged":         "ended",
		"waiting/cancel":       "over settle",
		"running/cancel":       "killing kill",
		"looking/leave":        "over give back",
		"waiting/leave":        "over give back",
		"recording/leave":      "over give back",
		"submitting/leave":     "over give back",
		"unsure/leave":         "over give back",
		"running/leave":        "over give back",
		"killing/leave":        "over give back",
		"ended/leave":          "over give back",
		"killing/seen":         "killing",
		"running/tick":         "running",
		"killing/killed":       "killing",
		"killing/not seen":     "killing",
		"running/not seen":     "running",
		"unsure/not found":     "unsure",
		"looking/cancel":       "looking",
		"recording/cancel":     "recording",
		"submitting/cancel":    "submitting",
		"unsure/cancel":        "unsure",
		"killing/cancel":       "killing",
		"looking/tick":         "looking",
		"waiting/tick":         "waiting",
		"submitting/not found": "submitting",
		"unsure/not seen":      "unsure",
		"ended/seen":           "ended",
		"ended/cancel":         "ended",
		"over/seen":            "over",
		"over/leave":           "over",
		"over/cancel":          "over",
		"over/saved":           "over",
		"running/accepted":     "running",
		"waiting/recorded":     "waiting",
		"recording/turn":       "recording",
		"recording/accepted":   "recording",
		"submitting/turn":      "submitting",
		"submitting/recorded":  "submitting",
		"submitting/seen":      "submitting",
		"running/turn":         "running",
		"running/found":        "running",
		"killing/accepted":     "killing",
		"killing/found":        "killing",
		"unsure/accepted":      "unsure",
		"unsure/turn":          "unsure",
		"ended/not seen":       "ended",
		"over/turn":            "over",
		"over/accepted":        "over",
		"looking/turn":         "looking",
		"looking/seen":         "looking",
		"waiting/seen":         "waiting",
		"waiting/accepted":     "waiting",
		"waiting/not found":    "waiting",
		"running/not found":    "running",
		"killing/not found":    "killing",
		"submitting/found":     "submitting",
		"submitting/tick":      "submitting",
		"unsure/seen":          "unsure",
		"unsure/tick":          "unsure",
		"recording/not seen":   "recording",
		"recording/seen":       "recording",
		"submitting/not seen":  "submitting",
		"running/killed":       "running",
		"running/saved":        "running",
		"running/logged":       "running",
		"waiting/no tag":       "waiting",
		"waiting/has tag":      "waiting",
		"running/has tag":      "running",
		"killing/has tag":      "killing",
		"over/has tag":         "over",
		"ended/tick":           "ended",
		"recording/tick":       "recording",
		"over/tick":            "over",
		"ended/killed":         "ended",
		"killing/saved":        "killing",
		"submitting/saved":     "submitting",
		"unsure/saved":         "unsure",
		"looking/saved":        "looking",
		"looking/recorded":     "looking",
		"unsure/recorded":      "unsure",
		"killing/turn":         "killing",
		"killing/denied":       "killing",
		"ended/turn":           "ended",
		"ended/accepted":       "ended",
		"ended/found":          "ended",
		"running/denied":       "running",
		"running/unclear":      "running",
		"unsure/denied":        "unsure",
		"unsure/unclear":       "unsure",
		"submitting/no tag":    "submitting",
		"submitting/has tag":   "submitting",
		"recording/has tag":    "recording",
		"recording/not found":  "recording",
		"looking/not found":    "looking",
		"looking/not seen":     "looking",
		"looking/killed":       "looking",
		"looking/logged":       "looking",
		"over/recorded":        "over",
		"over/not seen":        "over",
		"over/logged":          "over",
		"submitting/killed":    "submitting",
		"submitting/logged":    "submitting",
		"waiting/killed":       "waiting",
		"recording/killed":     "recording",
		"recording/saved":      "recording",
		"recording/logged":     "recording",
		"waiting/saved":        "waiting",
		"waiting/logged":       "waiting",
		"unsure/killed":        "unsure",
		"unsure/logged":        "unsure",
		"killing/logged":       "killing",
		"killing/recorded":     "killing",
		"killing/unclear":      "killing",
		"running/recorded":     "running",
		"ended/recorded":       "ended",
		"waiting/found":        "waiting",
		"waiting/not seen":     "waiting",
		"waiting/denied":       "waiting",
		"waiting/unclear":      "waiting",
		"recording/found":      "recording",
		"recording/denied":     "recording",
		"recording/unclear":    "recording",
		"looking/accepted":     "looking",
		"looking/denied":       "looking",
		"looking/unclear":      "looking",
		"looking/found":        "looking",
		"over/no tag":          "over",
		"over/found":           "over",
		"over/not found":       "over",
		"over/killed":          "over",
		"over/denied":          "over",
		"over/unclear":         "over",
		"ended/no tag":         "ended",
		"ended/has tag":        "ended",
		"ended/denied":         "ended",
		"ended/unclear":        "ended",
		"ended/not found":      "ended",
		"killing/no tag":       "killing",
		"unsure/no tag":        "unsure",
		"unsure/has tag":       "unsure",
		"running/no tag":       "running",
		"recording/no tag":     "recording",
		"looking/unopened":     "looking",
		"waiting/unopened":     "waiting",
		"recording/unopened":   "recording",
		"unsure/unopened":      "unsure",
		"running/unopened":     "running",
		"killing/unopened":     "killing",
		"ended/unopened":       "ended",
		"over/unopened":        "over",
	}
	for state := Looking; state < states; state++ {
		for kind := NoTag; kind < kinds; kind++ {
			name := state.String() + "/" + kind.String()
			r := Remote{State: state, Tagged: state > Recording, since: noon}
			ev := Event{Kind: kind, ID: "4711", Stage: Started, Tag: Tag{Name: "bellhop-1-1", State: TagRunning}}
			next, effects := r.Step(ev, rules, noon.Add(20*time.Second))
			got := next.State.String()
			for _, e := range effects {
				got += " " + e.String()
			}
			if want[name] != got {
				t.Errorf("%s: %s, want %q", name, got, want[name])
			}
		}
	}
}

// life tells a job one event after the other, each so long after the last.
type happening struct {
	after time.Duration
	ev    Event
}

func live(r Remote, all ...happening) (Remote, []string) {
	var done []string
	now := noon
	for _, h := range all {
		now = now.Add(h.after)
		var effects []Effect
		r, effects = r.Step(h.ev, rules, now)
		for _, e := range effects {
			done = append(done, e.String())
		}
	}
	return r, done
}

func kind(k Kind) Event { return Event{Kind: k} }

func submitted(then ...happening) []happening {
	first := []happening{{0, kind(NoTag)}, {0, kind(Turn)}, {0, kind(Recorded)}, {0, Event{Kind: Accepted, ID: "7"}}}
	return append(first, then...)
}

func TestStep_Lives(t *testing.T) {
	t.Parallel()
	seen := func(s Stage, code int) Event { return Event{Kind: Seen, Stage: s, ExitCode: code} }
	over := []happening{{0, kind(Saved)}, {0, kind(Logged)}}
	for _, c := range []struct {
		name string
		is   Remote
		all  []happening
		how  How
		done string
	}{
		{"it runs and succeeds", Remote{}, append(submitted(happening{5, seen(Pending, 0)}, happening{5, seen(Started, 0)}, happening{5, seen(Succeeded, 0)}), over...),
			OK, "record submit save save save save logs settle"},
		{"it fails", Remote{}, append(submitted(happening{5, seen(Failed, 3)}), over...), Bad, "record submit save save logs settle"},
		{"submit says that it can never be", Remote{}, []happening{{0, kind(NoTag)}, {0, kind(Turn)}, {0, kind(Recorded)}, {0, kind(Denied)}, {0, kind(Saved)}},
			Refused, "record submit save settle"},
		{"its key is not here", Remote{}, []happening{{0, kind(NoTag)}, {0, kind(Turn)}, {0, kind(Recorded)}, {0, kind(Unopened)}, {0, kind(Saved)}},
			Sealed, "record submit save settle"},
		{"its key is not here, and it is cancelled", Remote{}, []happening{{0, kind(NoTag)}, {0, kind(Turn)}, {0, kind(Recorded)}, {0, kind(CancelAsked)},
			{0, kind(Unopened)}, {0, kind(Saved)}}, Cancelled, "record submit save settle"},
		{"it is never seen", Remote{}, append(submitted(happening{time.Minute, kind(NotSeen)}, happening{2 * time.Minute, kind(NotSeen)}), happening{0, kind(Saved)}),
			Unseen, "record submit save save settle"},
		{"it vanishes", Remote{}, append(submitted(happening{5, seen(Started, 0)}, happening{time.Second, kind(NotSeen)}, happening{time.Minute, kind(NotSeen)}), over...),
			Lost, "record submit save save save logs settle"},
		{"submit fails for as long as it may", Remote{}, []happening{{0, kind(NoTag)}, {0, kind(Turn)}, {0, kind(Recorded)}, {0, Event{Kind: Unclear, Said: "full"}},
			{time.Second, kind(NotFound)}, {20 * time.Second, kind(NotFound)}, {0, kind(Turn)}, {0, Event{Kind: Unclear, Said: "full"}},
			{100 * time.Second, kind(NotFound)}, {100 * time.Second, kind(NotFound)}, {0, kind(Saved)}},
			Unseen, "record submit pause submit pause save settle"},
		{"its caller died before submit was called", Remote{}, append([]happening{{0, Event{Kind: HasTag, Tag: Tag{State: TagSubmitting, Sent: noon}}},
			{time.Second, kind(NotFound)}, {20 * time.Second, kind(NotFound)}, {0, kind(Turn)}, {0, kind(Accepted)}, {0, seen(Succeeded, 0)}}, over...),
			OK, "submit save save logs settle"},
		{"its caller died after submit", Remote{}, append([]happening{{0, Event{Kind: HasTag, Tag: Tag{State: TagSubmitting, Sent: noon}}},
			{time.Second, kind(Found)}, {0, seen(Succeeded, 0)}}, over...), OK, "save save logs settle"},
		{"whoever watched it died", Remote{}, append([]happening{{0, Event{Kind: HasTag, Tag: Tag{State: TagRunning, Stage: Started, In: noon}}},
			{0, seen(Succeeded, 0)}}, over...), OK, "save logs settle"},
		{"whoever watched it died before it told of the end", Remote{}, []happening{{0, Event{Kind: HasTag, Tag: Tag{State: TagEnded, End: End{How: Bad, ExitCode: 4}}}},
			{0, kind(Logged)}}, Bad, "logs settle"},
		{"it takes too long", Remote{Timeout: time.Minute}, append(submitted(happening{5, seen(Started, 0)}, happening{2 * time.Minute, kind(Tick)}, happening{0, kind(Killed)},
			happening{time.Second, seen(Failed, 137)}), over...), TimedOut, "record submit save save kill save logs settle"},
		{"what waits there does not take too long", Remote{Timeout: time.Minute}, append(submitted(happening{5, seen(Pending, 0)}, happening{time.Hour, kind(Tick)},
			happening{0, seen(Succeeded, 0)}), over...), OK, "record submit save save save logs settle"},
		{"it is cancelled while it is submitted", Remote{}, append([]happening{{0, kind(NoTag)}, {0, kind(Turn)}, {0, kind(Recorded)}, {0, kind(CancelAsked)}, {0, kind(Accepted)},
			{0, kind(Killed)}, {0, kind(NotSeen)}, {1, kind(NotSeen)}}, happening{0, kind(Saved)}), Cancelled, "record submit save kill save settle"},
		{"it is cancelled, and quicker", Remote{}, append(submitted(happening{5, seen(Started, 0)}, happening{0, kind(CancelAsked)}, happening{0, seen(Succeeded, 0)}), over...),
			OK, "record submit save save kill save logs settle"},
		{"it is cancelled while nobody knows", Remote{}, []happening{{0, Event{Kind: HasTag, Tag: Tag{State: TagSubmitting, Sent: noon}}}, {0, kind(CancelAsked)},
			{time.Second, kind(NotFound)}, {20 * time.Second, kind(NotFound)}, {0, kind(Saved)}}, Cancelled, "save settle"},
		{"it is cancelled before anybody looked", Remote{}, []happening{{0, kind(CancelAsked)}, {0, kind(NoTag)}}, Cancelled, "settle"},
	} {
		r, done := live(c.is, c.all...)
		if r.State != Over || r.End.How != c.how || strings.Join(done, " ") != c.done {
			t.Errorf("%s: it is %s, ended %s, done: %s; want %s, done: %s", c.name, r.State, r.End.How, strings.Join(done, " "),
				c.how, c.done)
		}
	}
}

// Whatever happens, in whatever order: a job has one outcome, or goes back once; submit is called only after its tag is
// recorded, and again only after the engine has said twice, Quiet after the end of the last call, that it has none; and
// only answers make it lost.
func TestStep_Laws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Remote{Timeout: time.Duration(rapid.IntRange(0, 3).Draw(t, "timeout")) * time.Minute}
		now, ends, denials := noon, 0, 0
		var recorded, called bool
		var ended time.Time // the last call
		answers := 0
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "s")) * time.Second)
			ev := Event{Kind: Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind")), Stage: Stage(rapid.IntRange(1, 4).Draw(t, "stage")), Said: "x",
				Tag: Tag{State: rapid.SampledFrom([]TagState{TagSubmitting, TagRunning, TagEnded}).Draw(t, "tag")}}
			was := r.State
			var effects []Effect
			r, effects = r.Step(ev, rules, now)
			switch {
			case was == Recording && ev.Kind == Recorded:
				recorded = true
			case was == Looking && ev.Kind == HasTag:
				recorded, called, ended, denials = true, true, now, 0
			case was == Submitting && ev.Kind == Unclear:
				ended, denials = now, 0
			case was == Unsure && ev.Kind == NotFound:
				denials++
			case ev.Kind == NotSeen:
				answers++
			case ev.Kind == Seen:
				answers = 0
			}
			for _, e := range effects {
				switch e {
				case Submit:
					if !recorded || called && (denials < 2 || now.Sub(ended) < rules.Quiet) {
						t.Fatalf("submit is called: recorded %v, called before %v, %d denials, %s later", recorded, called, denials, now.Sub(ended))
					}
					called = true
				case Settle, GiveBack:
					if ends++; ends > 1 {
						t.Fatal("a second end")
					}
				}
			}
			if r.End.How == Lost && was == Running && r.State == Ended && answers < 2 {
				t.Fatalf("lost after %d answers", answers)
			}
			if slices.Contains(effects, Settle) != (r.State == Over && was != Over && !slices.Contains(effects, GiveBack)) {
				t.Fatalf("%s after %s: %v", r.State, was, effects)
			}
		}
	})
}

func TestPace_EverMoreSeldom(t *testing.T) {
	t.Parallel()
	p := Pace{Every: 2 * time.Second, Most: time.Minute}
	now := noon
	var pauses []string
	for range 7 {
		p = p.Failed(now, 0)
		pauses = append(pauses, p.Next.Sub(now).String())
		now = p.Next
	}
	if got := strings.Join(pauses, " "); got != "2s 4s 8s 16s 32s 1m0s 1m0s" {
		t.Error(got)
	}
	if p = p.Answered(now); p.Fails != 0 || p.Next.Sub(now) != 2*time.Second {
		t.Errorf("%+v", p)
	}
}

func TestPolls(t *testing.T) {
	t.Parallel()
	of, err := Polls("bellhop-1-1 running\n\nbellhop-2-1 failed 3 out of memory\r\nbellhop-3-1 succeeded {\"a\": 1}\nbellhop-4-9 failed oops\nbellhop-5-1 pending (Resources)\n")
	want := "map[bellhop-1-1:{running 0 } bellhop-2-1:{failed 3 out of memory} bellhop-3-1:{succeeded 0 {\"a\": 1}} bellhop-4-9:{failed 0 oops} bellhop-5-1:{pending 0 (Resources)}]"
	if got := fmt.Sprint(of); err != nil || got != want {
		t.Errorf("%v\n%s\n%s", err, got, want)
	}
	if of, err := Polls("bellhop-1-1 running\nslurm_load_jobs error: Unable to contact slurm controller\n"); err == nil || len(of) != 1 {
		t.Errorf("%v, %v", of, err)
	}
	if _, err := Polls("bellhop-1-1 sleeping\n"); err == nil || !strings.Contains(err.Error(), "sleeping") {
		t.Error(err)
	}
	if ids, err := Finds("bellhop-1-1 4711\nbellhop-2-1\n"); err != nil || fmt.Sprint(ids) != "map[bellhop-1-1:4711 bellhop-2-1:]" {
		t.Errorf("%v, %v", ids, err)
	}
}
