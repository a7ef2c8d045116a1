package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
	"bellhop/sql/view"
)

// NewJob is a job to be. What is left out is as the queue has it by default.
type NewJob struct {
	view.Submission
	Args    json.RawMessage `json:"args,omitempty"`
	Timeout string          `json:"timeout,omitempty"`
	Per     string          `json:"per,omitempty"`
}

// TransformSchema gives the fields the words and bounds of the grammar.
func (NewJob) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s = described(grammar.Submission, s)
	s.Properties["max_attempts"].Minimum = new(float64) // 0, as what is left out: as the type says
	s.Properties["max_attempts"].PrecomputeMessages()
	return s
}

// submission checks what PostgreSQL does not, and makes a submission of it.
func (n NewJob) submission() (view.Submission, error) {
	s := n.Submission
	if s.Batch != nil && *s.Batch == 0 {
		s.Batch = nil
	}
	var err error
	if s.Args, err = line(n.Args); err != nil {
		return s, err
	}
	if s.Timeout, err = span("timeout", n.Timeout); err != nil {
		return s, err
	}
	if s.Per, err = span("per", n.Per); err != nil {
		return s, err
	}
	if n.Type == "" {
		return s, unfit("type is missing")
	}
	if s.Traceparent != nil {
		if _, ok := scheduler.ParseTrace(*s.Traceparent); !ok {
			return s, unfit("traceparent is not valid; it looks like 00-…-…-01")
		}
	}
	return s, nil
}

// line makes a line of JSON: a string is the line itself.
func line(raw json.RawMessage) (*string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var text string
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, unfit("args: " + err.Error())
		}
		return &text, nil
	}
	var one bytes.Buffer
	if err := json.Compact(&one, raw); err != nil {
		return nil, unfit("args: " + err.Error())
	}
	text = one.String()
	return &text, nil
}

// span reads a duration; empty: none.
func span(name, text string) (*time.Duration, error) {
	if text == "" {
		return nil, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond {
		return nil, unfit(name + " is not a time span such as 90s, 10m or 2h")
	}
	return &d, nil
}

func unfit(why string) error {
	return refused(
		http.StatusUnprocessableEntity,
		"invalid",
		"curl "+Prefix+"/openapi.json   describes valid requests",
		"%s",
		why,
	)
}
