// Package workflow is what workflows are: definitions and what may be wrong with
// them, which slots of a sensor are due, and which steps of a run are made. It is
// pure; the database makes a run's jobs, in one transaction.
package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
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

// Notice names the receivers that are told how runs end; package notice interprets it.
type Notice struct {
	When                []string `json:"when,omitempty"`
	Mail                []string `json:"mail,omitempty"`
	Webhook             string   `json:"webhook,omitempty"`
	Command             []string `json:"command,omitempty"`
	UnlessSuccessWithin Duration `json:"unless_success_within,omitempty"`
}

// Step is a job of each run. What its fields mean, they mean in bellhop.jobqueue.
type Step struct {
	Name        string            `json:"name"`
	Type        string            `json:"type"`
	Args        *string           `json:"args,omitempty"`
	MSQ         *string           `json:"msq,omitempty"`
	After       []string          `json:"after,omitempty"`
	RunOn       string            `json:"run_on,omitempty"`
	Share       string            `json:"share,omitempty"`
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
		return fmt.Errorf("%q is not a valid duration: %w", s, err)
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
