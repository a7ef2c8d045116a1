package config

import (
	"testing"
	"time"
)

// Runs are kept for one time, or by how they ended; what is not said stays as it is.
func TestRetention_OfRuns(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string][3]time.Duration{
		"{}":                     {30 * day, 180 * day, 30 * day},
		"{runs: 48h}":            {2 * day, 2 * day, 2 * day},
		"{runs: 0s}":             {},
		"{runs: {skipped: 24h}}": {30 * day, 180 * day, day},
	} {
		c, err := Parse("bellhop.yaml", []byte("retention: "+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		runs := c.Retention.Runs
		if got := [3]time.Duration{runs["succeeded"], runs["failed"], runs["skipped"]}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
