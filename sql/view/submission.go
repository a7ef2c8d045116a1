// Code generated from scheduler/grammar by make generate. DO NOT EDIT.

package view

import (
	"time"

	"bellhop/scheduler"
)

// Submission is a job to be. Nil and zero fields are left to the defaults of bellhop.submit. Its fields are the
// function's arguments, and docs/reference.md says what they mean. Spans of time begin now on the database's clock; one
// counts if the time itself is nil. The caller's form has args as text or JSON, and spans as text.
type Submission struct {
	Type         scheduler.TypeName `json:"type"`
	Args         *string            `json:"-" sql:"args"`
	MSQ          *string            `json:"msq,omitempty"`
	Repeat       *string            `json:"repeat,omitempty"`
	RunOn        *string            `json:"run_on,omitempty"`
	Key          *string            `json:"key,omitempty"`
	Share        *string            `json:"share,omitempty"`
	Priority     int                `json:"priority,omitempty"`
	PriorityName *string            `json:"priority_name,omitempty"`
	RunAt        *time.Time         `json:"run_at,omitempty"`
	RunIn        *time.Duration     `json:"-" sql:"run_at,in"`
	Held         bool               `json:"held,omitempty"`
	Vars         map[string]string  `json:"vars,omitempty"`
	Locks        []string           `json:"locks,omitempty"`
	Reasons      []string           `json:"reasons,omitempty"`
	MaxAttempts  int32              `json:"max_attempts,omitempty"`
	Timeout      *time.Duration     `json:"-" sql:"timeout,span"`
	OnFailure    *string            `json:"on_failure,omitempty"`
	Traceparent  *string            `json:"traceparent,omitempty"`
	After        []scheduler.JobID  `json:"after,omitempty"`
	AfterKeys    []string           `json:"after_keys,omitempty"`
	Wanted       []string           `json:"wanted,omitempty"`
	Once         *string            `json:"once,omitempty"`
	Per          *time.Duration     `json:"-" sql:"per,span"`
	Replace      bool               `json:"replace,omitempty"`
	NotAfter     *time.Time         `json:"not_after,omitempty"`
	NotAfterIn   *time.Duration     `json:"-" sql:"not_after,in"`
	Batch        *scheduler.JobID   `json:"batch,omitempty"`
}
