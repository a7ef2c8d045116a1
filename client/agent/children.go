package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Child is a job that a run makes, and whose end its next run awaits.
type Child struct {
	Type        string            `json:"type"`
	Args        any               `json:"args,omitempty"`   // a string as it is, anything else as JSON
	MSQ         string            `json:"msq,omitempty"`    // a query whose rows are its items, in place of Args
	Repeat      string            `json:"repeat,omitempty"` // how often the query runs: once or until_empty
	RunOn       string            `json:"run_on,omitempty"`
	Share       string            `json:"share,omitempty"`
	Priority    *int              `json:"priority,omitempty"` // nil: as its parent
	RunAt       time.Time         `json:"run_at,omitzero"`    // it does not start before
	Held        bool              `json:"held,omitempty"`     // it waits until it is released
	Vars        map[string]string `json:"vars,omitempty"`
	Locks       []string          `json:"locks,omitempty"`
	Reasons     []string          `json:"reasons,omitempty"`      // tags for filters
	MaxAttempts int               `json:"max_attempts,omitempty"` // 0: as its agent says
	Timeout     Seconds           `json:"timeout,omitempty"`      // 0: as its agent says
	NotAfter    time.Time         `json:"not_after,omitzero"`     // it is cancelled if it has not begun by then
}

// Seconds is a time that is written as so many seconds.
type Seconds time.Duration

// MarshalJSON writes it as PostgreSQL reads it.
func (s Seconds) MarshalJSON() ([]byte, error) {
	// An interval has no exponent, which %g writes for a million.
	return json.Marshal(strconv.FormatFloat(time.Duration(s).Seconds(), 'f', -1, 64) + " seconds")
}

// UnmarshalJSON reads what MarshalJSON has written.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var n float64
	if _, err := fmt.Sscanf(string(b), `"%g seconds"`, &n); err != nil {
		return fmt.Errorf("read %s as so many seconds: %w", b, err)
	}
	*s = Seconds(time.Duration(n * float64(time.Second)))
	return nil
}

// ChildEnd is how a child has ended.
type ChildEnd struct {
	Job    int64           `json:"job"`
	State  string          `json:"state"`  // succeeded, failed, cancelled or quarantined; deleted: its row is gone
	Result json.RawMessage `json:"result"` // nil: it gave none, or all of them are larger than 1 MiB
	Error  string          `json:"error"`  // of one that did not succeed
}

// Children ends the run and makes these jobs, 1 to 1,000, in the transaction that records it. The next run goes on from
// here when all of them have ended, however that was, and gets their ends in the same order: return its error, if there
// is one. Calls are counted in their order, so that a run which was lost makes no child twice. A job that is cancelled
// leaves its children alone. Without children it returns at once.
//
//	ends, err := job.Children(agent.Child{Type: "resize", Args: "1.jpg"}, agent.Child{Type: "resize", Args: "2.jpg"})
//	if err != nil {
//		return err
//	}
func (j *Job[T]) Children(children ...Child) ([]ChildEnd, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(children) == 0 { // no step is saved of it, so that it is not counted either
		return nil, nil
	}
	j.parts++
	raw, is := j.Steps[fmt.Sprintf("children.%d", j.parts)]
	if !is {
		return nil, &Rest{Children: children}
	}
	var ends []ChildEnd
	if err := json.Unmarshal(raw, &ends); err != nil {
		return nil, fmt.Errorf("children of job %d: %w", j.ID, err)
	}
	return ends, nil
}

// ChildrenJSON is the children as the json dialect has them; empty: there are none, or they are not valid JSON.
func (r *Rest) ChildrenJSON() string {
	if len(r.Children) == 0 {
		return ""
	}
	raw, err := json.Marshal(r.Children)
	if err != nil {
		return "[]" // which bellhop refuses, in words
	}
	return string(raw)
}
