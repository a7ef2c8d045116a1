package intake

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// moment is one message to a dispatcher: what it told of, and what was decided
// then, at once and next.
type moment struct {
	Now    time.Time
	Events []struct {
		Kind  string
		Event json.RawMessage
	}
	Applied Step
	Can     Can
	Next    Step
}

func eventOf[E Event](raw json.RawMessage) (Event, error) {
	var e E
	err := json.Unmarshal(raw, &e)
	return e, err
}

var eventKinds = map[string]func(json.RawMessage) (Event, error){
	"Woken": eventOf[Woken], "Promoted": eventOf[Promoted], "Controlled": eventOf[Controlled],
	"Leaving": eventOf[Leaving], "Claimed": eventOf[Claimed], "Offered": eventOf[Offered], "Refunded": eventOf[Refunded],
	"MSQWaits": eventOf[MSQWaits], "MSQEnded": eventOf[MSQEnded], "Reconciled": eventOf[Reconciled],
	"Located": eventOf[Located],
	"Looked":  eventOf[Looked], "BacklogRead": eventOf[BacklogRead],
}

// What dispatchers decided before the decision stood here alone, when they ran
// on a database with real agents (recorded at 13a2c8e; hosts, types and MSQ jobs
// in the order in which they take turns now), is decided still. Eight grants of hosts_take_only_their_priorities come
// one claim later since: they had taken the queue's turn while a claim for another type was under way.
func TestReplay_DecidesAsItDidInTheDispatcher(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/replay/*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json.gz"), func(t *testing.T) {
			t.Parallel()
			replay(t, name)
		})
	}
}

func replay(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<22)
	var in *Intake
	for n := 1; lines.Scan(); n++ {
		if in == nil {
			var cfg Config
			if err := json.Unmarshal(lines.Bytes(), &cfg); err != nil {
				t.Fatal(err)
			}
			in = New(cfg)
			continue
		}
		var m moment
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		var applied Step
		for _, e := range m.Events {
			ev, err := eventKinds[e.Kind](e.Event)
			if err != nil {
				t.Fatalf("line %d: %s: %v", n, e.Kind, err)
			}
			s := in.Apply(ev, m.Now)
			applied.Dispatch = append(applied.Dispatch, s.Dispatch...)
			applied.Backlogs = append(applied.Backlogs, s.Backlogs...)
			applied.Nowhere = append(applied.Nowhere, s.Nowhere...)
		}
		same(t, n, "at once", applied, m.Applied)
		same(t, n, "next", in.Next(m.Can, m.Now), m.Next)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, line int, when string, got, want Step) {
	t.Helper()
	a, b := told(t, got), told(t, want)
	if !bytes.Equal(a, b) {
		t.Fatalf("line %d, %s:\n got %s\nwant %s", line, when, a, b)
	}
}

// told is a step as a recording has it: of what is empty it says nothing.
func told(t *testing.T, s Step) []byte {
	t.Helper()
	if s.Claim != nil { // the recordings do not count scans apart
		claim := *s.Claim
		claim.Demand.Scans, s.Claim = 0, &claim
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	raw, err = json.Marshal(full(v))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// full leaves out what is empty.
func full(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, of := range v {
			if v[k] = full(of); v[k] == nil {
				delete(v, k)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i, of := range v {
			v[i] = full(of)
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" || v == "0001-01-01T00:00:00Z" {
			return nil
		}
	case float64:
		if v == 0 {
			return nil
		}
	case bool:
		// false may be an answer: Draining
	}
	return v
}
