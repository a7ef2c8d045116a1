package actors

import (
	"slices"
	"testing"
	"time"

	"bellhop/scheduler"
)

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
		if n, most := f.count("logs"); most > 2 || n-was > 40 {
			t.Errorf("logs was called %d times, %d at once", n-was, most)
		}
		f.change(func() { f.all, f.takes, f.wrote = "succeeded", 0, "one\ntwo\nthree" })
		s.hear(time.Minute)
		if n, _ := f.count("logs"); n < 100 {
			t.Errorf("logs was called %d times for 100 jobs that are over", n)
		}
	})
}
