package actors

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

// What a job wrote is kept once, line by line, whatever part of it an answer has.
func TestRemoteLog(t *testing.T) {
	t.Parallel()
	said := func(lines string, cut, open bool) *scheduler.EngineSaid {
		return &scheduler.EngineSaid{Out: strings.ReplaceAll(lines, " ", "\n"), Cut: cut, Open: open}
	}
	for name, test := range map[string]struct {
		kept int
		says []*scheduler.EngineSaid // the last one when it is over
		want string
	}{
		"nothing":                  {0, []*scheduler.EngineSaid{said("", false, false)}, "[]"},
		"never read before":        {0, []*scheduler.EngineSaid{said("a b", false, false)}, "[a b]"},
		"line by line":             {0, []*scheduler.EngineSaid{said("a", false, false), said("a b", false, false), said("a b c", false, false)}, "[a][b][c]"},
		"nothing new":              {0, []*scheduler.EngineSaid{said("a a", false, false), said("a a", false, false), said("a a a", false, false)}, "[a a][][a]"},
		"a line that has no end":   {0, []*scheduler.EngineSaid{said("a b", false, true), said("a bc d", false, true), said("a bc d", false, true)}, "[a][bc][d]"},
		"by who watched before":    {2, []*scheduler.EngineSaid{said("a b c", false, false), said("a b c d", false, false)}, "[c][d]"},
		"its beginning is cut off": {0, []*scheduler.EngineSaid{said("a b c", false, false), said("b c d", true, false), said("d e", true, false)}, "[a b c][d][e]"},
		"cut off, and alike":       {0, []*scheduler.EngineSaid{said("a x x", false, false), said("a x x x", true, false)}, "[a x x][x]"},
		"all that was known is":    {0, []*scheduler.EngineSaid{said("a b", false, false), said("y z", true, false)}, "[a b][y z]"},
		"shorter than before":      {0, []*scheduler.EngineSaid{said("a b", false, false), said("a", false, false)}, "[a b][]"},
	} {
		l := remoteLog{kept: test.kept}
		var got strings.Builder
		for i, s := range test.says {
			if i == len(test.says)-1 {
				fmt.Fprint(&got, l.rest(s))
			} else {
				fmt.Fprint(&got, l.more(s))
			}
		}
		if got.String() != test.want {
			t.Errorf("%s: %s, want %s", name, got.String(), test.want)
		}
	}
	l := remoteLog{}
	if n := len(l.more(said(strings.Repeat("x ", 2*remoteMost), false, false))); n != remoteMost || l.due(time.Now()) {
		t.Errorf("%d lines, and more are wanted: %v", n, l.due(time.Now()))
	}
}

// Of jobs that run, logs is called only for those whose log somebody reads, and seldom.
func TestEngine_LogsOfWhatRuns(t *testing.T) {
	t.Parallel()
	f := newFakeEngine()
	f.logs = true
	playEngine(t, f, func(s *feeder) {
		texts := func() (list []string) {
			batch, _, _ := s.outbox.Take(time.Now())
			for _, entry := range batch.Entries {
				list = append(list, entry.Text)
			}
			return list
		}
		s.feed(100)
		s.hear(10 * time.Minute)
		if n, _ := f.count("logs"); n > 0 {
			t.Fatalf("logs was called %d times, and nobody reads", n)
		}
		f.change(func() { f.wrote = "one\ntwo" })
		var all []scheduler.JobID
		for job := range scheduler.JobID(20) {
			all = append(all, job+1)
		}
		s.instance.followed.Add([]scheduler.JobID{7}, time.Now())
		s.hear(9 * time.Second)
		if n, _ := f.count("logs"); n < 3 || n > 6 {
			t.Errorf("logs was called %d times in 9 s", n)
		}
		if got := texts(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("the log has %q", got)
		}
		s.hear(time.Minute) // nobody says any more that he reads
		was, _ := f.count("logs")
		s.hear(time.Minute)
		if n, _ := f.count("logs"); n != was {
			t.Errorf("logs was called %d times for nobody", n-was)
		}
		f.change(func() { f.takes = time.Second })
		s.instance.followed.Add(all, time.Now())
		s.hear(15 * time.Second)
		if n, most := f.count("logs"); most > engineFollows || n-was > 40 {
			t.Errorf("logs was called %d times, %d at once", n-was, most)
		}
		f.change(func() { f.all, f.takes, f.wrote = "succeeded", 0, "one\ntwo\nthree" })
		s.hear(time.Minute)
		if n, _ := f.count("logs"); n < 100 {
			t.Errorf("logs was called %d times for 100 jobs that are over", n)
		}
	})
}
