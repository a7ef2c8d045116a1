package receipt_test

import (
	"testing"
	"time"

	"bellhop/bench/receipt"
)

// Timed lines are noted with their time, others are only counted, and two
// desks of one measurement are read as one.
func TestDesk_NotesTimedLinesAndCountsAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := receipt.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	before := receipt.Monotonic()
	for line, want := range map[string]time.Duration{"t1": 0, "t2 1ms": time.Millisecond, "h 2s": 2 * time.Second, "17": 0,
		"": 0, `id="1" a="b"`: 0} {
		if got, err := d.Take([]byte(line)); err != nil || got != want {
			t.Errorf("Take(%q) = %s, %v, want %s", line, got, err, want)
		}
	}
	got, err := receipt.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["t1"] < before || got["t2"] < before {
		t.Errorf("notes are %v, want t1 and t2 after %d", got, before)
	}
	if n, err := receipt.Notes(dir); n != 2 || err != nil {
		t.Errorf("Notes = %d, %v, want 2", n, err)
	}
	if n, err := receipt.Total(dir); n != 6 || err != nil {
		t.Errorf("Total = %d, %v, want 6", n, err)
	}
}

func TestRead_ALineThatCameTwiceIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := receipt.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := d.Take([]byte("t1")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := receipt.Read(dir); err == nil {
		t.Error("no error")
	}
}
