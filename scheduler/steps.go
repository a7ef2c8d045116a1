package scheduler

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Earlier is what a job's line tells of its earlier attempts. Each field is JSON.
type Earlier struct {
	Steps json.RawMessage `json:"steps"` // an object: name → output
	// Event is the payload of the event that the job awaited last; nil: it awaited none.
	Event    json.RawMessage `json:"event"`
	TimedOut bool            `json:"timed_out"` // the event has not come in time; Event is null
}

// ReadEarlier reads what bellhop.steps_of gives.
func ReadEarlier(text string) (*Earlier, error) {
	var k Earlier
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return nil, fmt.Errorf("read the steps of a job: %w", err)
	}
	return &k, nil
}

// SavedStep is what a run has done, for later attempts of its job.
type SavedStep struct {
	Name   string
	Output json.RawMessage
}

// Resting is how a run ends that goes on later, in the next attempt; it counts as none.
type Resting struct {
	Event string        // that the job awaits; empty: it sleeps
	Pause time.Duration // at most so long; 0: for as long as it takes, until the event comes
	// KeepLocks: no other job gets the job's locks until its next run has ended.
	KeepLocks bool
	// Children is a list of jobs, as JSON: the job goes on when they have ended; empty: it has none.
	Children string
}

func (r Resting) String() string {
	keeps := ""
	if r.KeepLocks {
		keeps = " and keeps its locks"
	}
	switch {
	case r.Children != "":
		return "awaits the ends of its child jobs" + keeps
	case r.Event == "":
		return "sleeps for " + r.Pause.String() + keeps
	case r.Pause == 0:
		return "awaits event " + strconv.Quote(r.Event) + keeps
	}
	return fmt.Sprintf("awaits event %q for at most %s%s", r.Event, r.Pause, keeps)
}

// eventName is what an event may be called: the same as in bellhop.rest_fault.
var eventName = regexp.MustCompile(`^[^\x00-\x1f\x7f-\x9f]{1,190}$`)

// Check tells why a job cannot rest so; nil: it can.
func (r Resting) Check() error {
	if r.Event != "" && !eventName.MatchString(r.Event) {
		return fmt.Errorf("an event has a name of 1 to 190 characters on one line, and not %.40q", r.Event)
	}
	if r.Children != "" || r.Event != "" && r.Pause == 0 {
		return nil
	}
	return CheckPause(r.Pause)
}

// ParsePause reads a time such as 10m, 36h or 3d.
func ParsePause(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	return time.ParseDuration(text)
}

// StepRefused is a step that cannot be kept, and never will be.
type StepRefused struct{ Why string }

func (s *StepRefused) Error() string { return "step_refused: " + s.Why }
