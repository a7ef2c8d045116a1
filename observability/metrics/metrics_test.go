package metrics

import (
	"log/slog"
	"testing"
	"time"

	"bellhop/scheduler"
)

// BenchmarkMetrics is what a job costs, claimed and settled.
func BenchmarkMetrics(b *testing.B) {
	m, err := New(Build{Version: "1", Commit: "c", Go: "go"}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	at := time.Now()
	jobs := make([]scheduler.Job, 100)
	records := make([]scheduler.Record, len(jobs))
	for i := range jobs {
		jobs[i].Origin = &scheduler.Origin{Type: "a", Due: at, Claimed: at.Add(time.Millisecond)}
		records[i].Result = scheduler.Result{Line: &jobs[i].Line, Began: at, Ended: at.Add(time.Millisecond)}
	}
	b.ReportAllocs()
	for range b.N / len(jobs) {
		m.Claimed(jobs)
		m.Settled(records, nil)
	}
}
