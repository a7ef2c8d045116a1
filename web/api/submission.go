package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

// NewJob is a job to be. What is left out is as the queue has it by default.
type NewJob struct {
	Type         scheduler.TypeName `json:"type"                    minLength:"1" doc:"The type that an agent serves"                                                       example:"license"`
	Args         json.RawMessage    `json:"args,omitempty"                        doc:"The line that the agent is given: a string, or any other JSON, which becomes a line"`
	MSQ          *string            `json:"msq,omitempty"                         doc:"A query whose rows are the items, in place of args"`
	Repeat       *string            `json:"repeat,omitempty"                      doc:"once or until_empty"`
	RunOn        *string            `json:"run_on,omitempty"                      doc:"The host, or what a host serves, that it must run on"`
	Key          *string            `json:"key,omitempty"                         doc:"A name that no other job has; the header Idempotency-Key is the same"                                  maxLength:"1000"`
	Priority     int                `json:"priority,omitempty"                    doc:"-20 goes first"                                                                                                         minimum:"-20" maximum:"19"`
	PriorityName *string            `json:"priority_name,omitempty"               doc:"As RJM writes it: its first letter counts, a is -13, n is 0, z is 12. priority is not read then"`
	RunAt        *time.Time         `json:"run_at,omitempty"                      doc:"Not before this"`
	Held         bool               `json:"held,omitempty"`
	Vars         map[string]string  `json:"vars,omitempty"                        doc:"Variables for the agent"`
	Locks        []string           `json:"locks,omitempty"                       doc:"Such as db:orders=exclusive"`
	Reasons      []string           `json:"reasons,omitempty"                     doc:"Tags that filters know the job by, such as import:2026-11"`
	MaxAttempts  int32              `json:"max_attempts,omitempty"                doc:"In all; 0: as the type says"                                                                                            minimum:"0"`
	Timeout      string             `json:"timeout,omitempty"                     doc:"Of one attempt, such as 90s or 2h"`
	OnFailure    *string            `json:"on_failure,omitempty"                  doc:"What becomes of it when one that it needs fails: fail, block or run"`
	After        []int64            `json:"after,omitempty"                       doc:"The ids of jobs that it needs"`
	AfterKeys    []string           `json:"after_keys,omitempty"                  doc:"And their keys"`
	Wanted       []string           `json:"wanted,omitempty"                      doc:"How those have to end; succeeded"`
	NotAfter     *time.Time         `json:"not_after,omitempty"                   doc:"It expires when it has not begun by then"`
	Once         *string            `json:"once,omitempty"                        doc:"For how long its key is taken: ever, open or waiting"`
	Per          string             `json:"per,omitempty"                         doc:"Its key is that of a period, such as 24h"`
	Replace      bool               `json:"replace,omitempty"                     doc:"What waits under its key gets this content"`
	Batch        int64              `json:"batch,omitempty"                       doc:"The id of a batch that it joins: the job that runs when all of it are over"                            minimum:"1"`
	Traceparent  *string            `json:"traceparent,omitempty"                 doc:"The context of whoever submits; the header of that name is the same"`
}

// submission checks what PostgreSQL does not, and makes a submission of it.
func (n NewJob) submission() (store.Submission, error) {
	s := store.Submission{Type: n.Type, MSQ: n.MSQ, Repeat: n.Repeat, RunOn: n.RunOn, Key: n.Key, Priority: n.Priority,
		PriorityName: n.PriorityName, RunAt: n.RunAt, Held: n.Held, Vars: n.Vars, Locks: n.Locks, Reasons: n.Reasons,
		MaxAttempts: n.MaxAttempts, OnFailure: n.OnFailure, AfterKeys: n.AfterKeys, Wanted: n.Wanted,
		NotAfter: n.NotAfter, Once: n.Once, Replace: n.Replace, Traceparent: n.Traceparent}
	if id := scheduler.JobID(n.Batch); id != 0 {
		s.Batch = &id
	}
	for _, id := range n.After {
		s.After = append(s.After, scheduler.JobID(id))
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
			return s, unfit("traceparent is none: 00-…-…-01")
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
		return nil, unfit(name + " is no time span such as 90s, 10m or 2h")
	}
	return &d, nil
}

func unfit(why string) error {
	return refused(
		http.StatusUnprocessableEntity,
		"invalid",
		"curl "+Prefix+"/openapi.json   has what is taken",
		"%s",
		why,
	)
}
