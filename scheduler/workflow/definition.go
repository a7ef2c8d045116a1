// Package workflow is what workflows are: definitions and what may be wrong with
// them, which slots of a sensor are due, and which steps of a run are made. It is
// pure; the database makes a run's jobs, in one transaction.
package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"bellhop/scheduler/cron"
)

// Definition is a workflow as it is kept: what starts it, and its steps, each
// behind those that it needs.
type Definition struct {
	Name       string            `json:"workflow"`
	Project    string            `json:"project,omitempty"`
	Active     bool              `json:"active"`
	Sensor     *Sensor           `json:"sensor,omitempty"` // nil: it is started by hand, or by an event
	Parameters map[string]string `json:"parameters,omitempty"`
	Steps      []Step            `json:"steps"`
	Notify     []Notice          `json:"notify,omitempty"`
}

// Notice is who is to be told how runs end. It is kept, and not obeyed yet.
type Notice struct {
	When                []string `json:"when,omitempty"`
	Mail                []string `json:"mail,omitempty"`
	Webhook             string   `json:"webhook,omitempty"`
	Command             []string `json:"command,omitempty"`
	UnlessSuccessWithin Duration `json:"unless_success_within,omitempty"`
}

// Sensor says what starts a workflow: one of Cron, Every and Workflow.
type Sensor struct {
	Cron    string  `json:"cron,omitempty"`
	Zone    string  `json:"zone,omitempty"`
	CatchUp CatchUp `json:"catch_up,omitempty"`

	Every       Duration `json:"every,omitempty"`
	AfterFinish bool     `json:"after_finish,omitempty"` // counted from the end of the last run
	AtMost      int      `json:"at_most,omitempty"`      // so many in each Per
	Per         Duration `json:"per,omitempty"`

	Workflow string   `json:"workflow,omitempty"` // starts when a run of this one has ended
	When     []string `json:"when,omitempty"`     // so; without any: succeeded
}

// CatchUp says what becomes of slots that were missed: nobody was there for them
// until more than Late after their time.
type CatchUp string

// One of them is made up for by default: the last one.
const (
	CatchUpOne  CatchUp = "one"
	CatchUpAll  CatchUp = "all"
	CatchUpNone CatchUp = "none"
)

// Kind is the word under which a sensor stands in a definition.
func (s *Sensor) Kind() string {
	switch {
	case s == nil:
		return ""
	case s.Cron != "":
		return "cron"
	case s.Every > 0:
		return "every"
	case s.Workflow != "":
		return "workflow"
	}
	return ""
}

// Schedule is when the sensor's slots are; nil where they are none of the clock's.
func (s *Sensor) Schedule() (Schedule, error) {
	switch {
	case s.Kind() == "cron":
		return cron.Parse(s.Cron, s.Zone)
	case s.Kind() == "every" && !s.AfterFinish:
		return beat(s.Every), nil
	}
	return nil, nil
}

// Step is a job of each run. What its fields mean, they mean in bellhop.jobqueue.
type Step struct {
	Name        string            `json:"name"`
	Type        string            `json:"type"`
	Args        *string           `json:"args,omitempty"`
	MSQ         *string           `json:"msq,omitempty"`
	After       []string          `json:"after,omitempty"`
	RunOn       string            `json:"run_on,omitempty"`
	Priority    int               `json:"priority,omitempty"`
	Vars        map[string]string `json:"vars,omitempty"`
	Locks       []string          `json:"locks,omitempty"`
	MaxAttempts int               `json:"max_attempts,omitempty"`
	Timeout     Duration          `json:"timeout,omitempty"`
	OnFailure   string            `json:"on_failure,omitempty"` // fail, or run: whatever becomes of those before it
}

// Duration is kept as people write it.
type Duration time.Duration

// String leaves out what is nothing: 1h, and not 1h0m0s.
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

func (d *Duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is no duration: %w", s, err)
	}
	*d = Duration(v)
	return nil
}

// Read reads a definition as the database keeps it.
func Read(text []byte) (d Definition, err error) {
	if err = json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("a definition that cannot be read: %w", err)
	}
	return d, nil
}
