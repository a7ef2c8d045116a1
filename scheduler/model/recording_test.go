package model

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recordings is a folder in which `bellhop torture --keep FOLDER` has left some.
var recordings = flag.String("recordings", "testdata", "replay the `folder`'s recordings of bellhop torture --record")

// moment is a line of a recording.
type moment struct {
	job      int64
	at       float64 // seconds
	what     string  // begin and end of an agent, or a state of the row
	fence    int64
	instance int64 // of a row; 0: none
}

// recording is what was seen in one history of bellhop torture.
type recording struct {
	fault string
	jobs  map[int64][]moment
}

func readRecording(path string) (r recording, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	r.jobs = map[int64][]moment{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fault, is := strings.CutPrefix(lines.Text(), "fault "); is {
			r.fault = fault
			continue
		}
		var m moment
		if _, err := fmt.Sscan(lines.Text(), &m.job, &m.at, &m.what, &m.fence, &m.instance); err != nil {
			return r, fmt.Errorf("%s: %q: %w", path, lines.Text(), err)
		}
		r.jobs[m.job] = append(r.jobs[m.job], m)
	}
	return r, lines.Err()
}

// final are the states of a row that has ended.
var final = []string{"succeeded", "failed", "cancelled", "quarantined"}

// things gives what was seen of a job, with numbers of instances and runs as the models have them, and how many there
// are.
func things(job []moment) (all []seen, size bounds) {
	slices.SortStableFunc(job, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	runs, owners := map[int64]uint8{0: 0}, map[int64]uint8{0: 0}
	owner := map[int64]int64{} // of a fence
	fences := map[int64]bool{}
	for _, m := range job {
		if m.what == "begin" || m.what == "running" {
			fences[m.fence] = true
		}
		if m.instance != 0 && m.what == "running" {
			owner[m.fence] = m.instance
		}
	}
	for n, fence := range slices.Sorted(maps.Keys(fences)) {
		runs[fence] = uint8(n + 1)
	}
	for _, m := range job {
		if _, known := owners[m.instance]; !known {
			owners[m.instance] = uint8(len(owners))
		}
	}
	row := "ready"
	var held int64 // the fence of a row that is running
	for _, m := range job {
		by := owners[owner[m.fence]]
		switch {
		case m.what == "begin":
			all = append(all, seen{beginSeen, by, runs[m.fence]})
		case m.what == "end":
			all = append(all, seen{endSeen, by, runs[m.fence]})
		case m.what == "running" && (row != m.what || held != m.fence):
			if row == m.what { // one statement has freed and claimed it
				all = append(all, seen{what: rowReady})
			}
			all = append(all, seen{rowClaimed, owners[m.instance], runs[m.fence]})
			row, held = m.what, m.fence
		case slices.Contains(final, m.what):
			all = append(all, seen{rowEnded, by, runs[m.fence]})
			row = m.what
		case m.what != "running":
			if row == "running" {
				all = append(all, seen{what: rowReady})
			}
			row = "ready"
		}
	}
	size = bounds{len(owners) - 1, uint8(len(fences))}
	if len(owner) < len(fences) {
		size.instances++ // a claim was undone, and its owner is not known
	}
	return all, size
}

// crashing are the faults in which a server forgets claims, and no outcome.
var crashing = []string{"backend-killed", "server-killed", "server-restarted", "promotion-synchronous"}

// TestRecordings_TheModelsCanDoWhatTheProgramDid replays what witnesses and the queue's rows have shown of each job.
func TestRecordings_TheModelsCanDoWhatTheProgramDid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(*recordings, "*.recording"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no recording in %s: %v", *recordings, err)
	}
	known := map[string]int{} // of the same things seen: how many the model can do
	jobs, large, things := 0, 0, 0
	for _, file := range files {
		r, err := readRecording(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range slices.Sorted(maps.Keys(r.jobs)) {
			n, fits := r.replay(t, file, id, known)
			jobs, things = jobs+1, things+n
			if !fits {
				large++
			}
		}
	}
	t.Logf("%d recordings, %d jobs, %d things seen, %d different orders; %d jobs have too many runs for the models",
		len(files), jobs, things, len(known), large)
	if large*20 > jobs {
		t.Errorf("%d of %d jobs were not replayed", large, jobs)
	}
}

// replay holds one job against the model of the recording's fault.
func (r recording) replay(t *testing.T, file string, id int64, known map[string]int) (n int, fits bool) {
	t.Helper()
	all, size := things(r.jobs[id])
	loses := r.fault == "promotion-asynchronous"
	if size.instances > most || size.runs > mostRuns || loses && size.runs > mostLost {
		return 0, false
	}
	crashed := slices.Contains(crashing, r.fault)
	key := fmt.Sprint(loses, crashed, all)
	done, replayed := known[key]
	switch {
	case replayed:
	case crashed:
		done = crashes(size).replay(all)
	default:
		done = leases(size, loses).replay(all)
	}
	known[key] = done
	if done < len(all) {
		t.Errorf("%s, job %d: the model cannot do what follows on line %d:", file, id, done)
		for n, e := range all {
			t.Logf("  %d %s", n+1, e)
		}
	}
	return len(all), true
}
