package cli

import (
	"time"

	"bellhop/scheduler/words"
)

// ParseAge reads a time span, also in days.
func ParseAge(text string) (time.Duration, error) { return words.ParseAge(text) }

// ParseMoment reads a time, in UTC, or how long ago it was, also in days.
func ParseMoment(text string) (time.Time, error) { return words.ParseMoment(text) }
