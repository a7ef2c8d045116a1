package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"bellhop/scheduler/grammar"
	"bellhop/sql/view"
)

// Job is one to be submitted. Its type is all that it needs.
type Job struct {
	Type TypeName

	// What the agent is given: at most one of the three.
	Args string // one line of text; empty: none
	JSON any    // a value that is encoded as one line of JSON
	MSQ  string // a query, each of whose rows is an item of work

	// Repeat says how often the query of MSQ runs: "once" or "until_empty".
	// Empty: until it is empty if it has a LIMIT, once otherwise.
	Repeat string

	// Key is a name that no other job has, also of those that are over: a job
	// that is submitted again under its key, with the same content, is the first
	// one. Empty: none.
	Key string
	// Once says for how long the key is taken: "ever"; "open": while its job is
	// not over; "waiting": while that has not begun. A job that has it is the
	// answer then, whatever its content; one that does not hold it any more is
	// called key#id from then on. Empty: ever.
	Once string
	// Per is a period, in each of which there is one job of the key: 24 hours are a
	// day from midnight UTC, and a week begins on Monday.
	Per time.Duration
	// Replace gives a job that waits under the key this content and time, in place
	// of another job: what comes often, and is to be done once, when it is quiet.
	Replace bool
	// Priority is from -20, which goes first, to 19.
	Priority int
	// PriorityName is a priority as RJM writes it, of letters and digits: its first
	// letter counts, a is -13, n is 0, z is 12. The text is kept, and Priority is
	// not read. Empty: Priority counts.
	PriorityName string
	// RunOn is the host, or a name that hosts serve, on which it has to run.
	// Empty: anywhere.
	RunOn string
	// Share is the key, such as a customer, among which the starts of jobs of one type
	// and priority are shared. Empty: none.
	Share string
	// RunAt is when it may start at the earliest. Zero: now.
	RunAt time.Time
	// RunIn is the same from now on, on the database's clock, to the
	// millisecond. It counts where RunAt is zero.
	RunIn time.Duration
	// NotAfter is when it is too late for it: a job that has not begun by then is
	// Cancelled, and its error begins with "expired: ". Zero: never.
	NotAfter time.Time
	// Held keeps it from starting until it is released.
	Held bool
	// MaxAttempts is how often it is tried, in all. 0: as its type says
	// (agents[].retry), which is once where that says nothing.
	MaxAttempts int
	// Timeout is how long one attempt may take, to the millisecond. 0: what is
	// configured for its type.
	Timeout time.Duration
	// Locks are what it holds while it runs, such as "db:orders=exclusive",
	// "db:*=shared" or "big". It starts when it gets all of them.
	Locks []string
	// Reasons are tags of the job that filters know it by, such as "import:2026-11".
	// A tag "rate-limit:N:NAME" lets at most N jobs of that tag run at once.
	Reasons []string
	// Vars are variables for the agent, which gets those that it is configured
	// to take.
	Vars map[string]string
	// Plain are names of vars that a client with keys leaves plain (WithKeys): what locks, shares and filters go by.
	Plain []string
	// Traceparent is the submitter's W3C trace context. Empty: what the setting bellhop.traceparent says, or else a
	// trace of the job's own.
	Traceparent string

	// After and AfterKeys are the jobs that it needs: it starts when all of them
	// have ended in one of the ways of Wanted, which is Succeeded where it is empty.
	After     []JobID
	AfterKeys []string
	Wanted    []State
	// OnFailure is what becomes of it when one of them ends otherwise: "fail",
	// "block" or "run". Empty: fail.
	OnFailure string
	// Batch is the job of its batch, as Client.Batch gives it: that needs this one
	// too. 0: none.
	Batch JobID
}

// text is the one line that the agent is given; nil: there is none.
func (j *Job) text() (*string, error) {
	if j.JSON == nil {
		return given(j.Args), nil
	}
	if j.Args != "" {
		return nil, invalid(ruleArgs, "a job has Args or JSON, not both")
	}
	line, err := json.Marshal(j.JSON) // which has no line break, whatever is in there
	if err != nil {
		return nil, &Error{Class: ErrInvalid, Rule: ruleArgs, Message: err.Error(), err: fmt.Errorf("encode the job's JSON: %w", err)}
	}
	text := string(line)
	return &text, nil
}

// The rules that a client keeps by itself are called as the constraints are, or
// would be.
const (
	ruleArgs     = "jobqueue_args_or_msq"
	ruleSealed   = "jobqueue_sealed"
	ruleAttempts = "jobqueue_max_attempts"
	rulePriority = "jobqueue_priority_range"
	ruleTimeout  = "jobqueue_timeout_positive"
)

// check finds what does not even fit into the row.
func (j *Job) check() error {
	switch {
	case j.MaxAttempts < 0 || j.MaxAttempts > 1<<31-1:
		return invalid(ruleAttempts, fmt.Sprintf("MaxAttempts is %d", j.MaxAttempts))
	case j.Priority < grammar.LeastPriority || j.Priority > grammar.MostPriority:
		return invalid(rulePriority, fmt.Sprintf("Priority is %d: it goes from %d, which is first, to %d", j.Priority,
			grammar.LeastPriority, grammar.MostPriority))
	case j.Timeout != 0 && j.Timeout < time.Millisecond:
		return invalid(ruleTimeout, fmt.Sprintf("Timeout is %v: the shortest is a millisecond", j.Timeout))
	}
	return nil
}

// submission is the job in the words of the store, sealed where there are keys.
func (j *Job) submission(keys *Keys) (view.Submission, error) {
	if err := j.check(); err != nil {
		return view.Submission{}, err
	}
	args, err := j.text()
	if err != nil {
		return view.Submission{}, err
	}
	s := view.Submission{Args: args}
	from, to := reflect.ValueOf(j).Elem(), reflect.ValueOf(&s).Elem()
	for _, f := range submitted {
		if value := from.Field(f.from); !value.IsZero() {
			assign(to.Field(f.to), value)
		}
	}
	if keys == nil && len(j.Plain) > 0 {
		return s, invalid(ruleSealed, "Plain names vars that stay plain, and the client has no keys: give it some with WithKeys")
	}
	if err := s.Seal(keys, j.Plain); err != nil {
		return s, &Error{Class: ErrInvalid, Rule: ruleSealed, Message: err.Error(), err: err}
	}
	return s, nil
}

// submitted are the fields of a Job that a submission has under the same name, but for Args and JSON.
var submitted = func() (list []struct{ from, to int }) {
	to := reflect.TypeFor[view.Submission]()
	for f := range reflect.TypeFor[Job]().Fields() {
		if same, is := to.FieldByName(f.Name); is && f.Name != "Args" {
			list = append(list, struct{ from, to int }{f.Index[0], same.Index[0]})
		}
	}
	return list
}()

// assign sets a field to a value, or to a pointer to it.
func assign(to, value reflect.Value) {
	switch t := to.Type(); {
	case t.Kind() == reflect.Pointer:
		to.Set(reflect.New(t.Elem()))
		to.Elem().Set(value.Convert(t.Elem()))
	case t.Kind() == reflect.Slice && t != value.Type():
		for i := range value.Len() {
			to.Set(reflect.Append(to, value.Index(i).Convert(t.Elem())))
		}
	default:
		to.Set(value.Convert(t))
	}
}

// given is nil, which is NULL, for the zero value.
func given[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func invalid(rule, why string) error {
	return &Error{Class: ErrInvalid, Rule: rule, Message: why, err: errors.New(why)}
}
