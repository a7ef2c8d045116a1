package agent

import (
	"fmt"
	"time"
)

// wished is an error with what is to become of the job after it.
type wished struct {
	error
	never bool
	after time.Duration
}

func (w *wished) Unwrap() error { return w.error }

// NoRetry makes an error after which the job is not tried again, however many
// attempts it has left: another one would give the same.
func NoRetry(err error) error {
	if err == nil {
		return nil
	}
	return &wished{error: err, never: true}
}

// RetryIn makes an error after which the next attempt, if there is one left,
// comes in so long a time, and not as the policy of the type says.
func RetryIn(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &wished{error: err, after: d}
}

// EndedAs is an error that is none: the job is done, and there was nothing to
// do. `return agent.NoData`. Of an item it means that it is done.
type EndedAs string

const (
	// NoData: there was no work; jobs that need this one go on.
	NoData EndedAs = "no_data"
	// Skipped: nothing of it is wanted this time; jobs that need it to have succeeded are skipped, too.
	Skipped EndedAs = "skipped"
)

func (e EndedAs) Error() string { return "it is done, and ended as " + string(e) }

// Snooze is an error that is none: the job is put off for so long (a millisecond
// to a year), and that counts as no attempt. `return agent.Snooze(time.Hour)`.
// An item cannot be put off: it fails.
type Snooze time.Duration

func (s Snooze) Error() string { return fmt.Sprintf("it is put off for %s", time.Duration(s)) }
