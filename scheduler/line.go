package scheduler

import (
	"encoding/json"
	"time"
)

// Claim names one hold on a job: the job and the fence it was claimed under.
type Claim struct {
	Job   JobID
	Fence Fence
}

// Line is one piece of work for a child: a single job, or one item of an MSQ
// job. It carries all that is needed to start it, so that no second read is
// made. The codec of the child's dialect turns it into bytes.
type Line struct {
	Claim
	Instance InstanceID    // the claiming instance: once it is taken for dead, the claim is void
	Item     int64         // 0: the job itself; else the number of the item within its MSQ job, from 1
	Attempt  int           // the try this line belongs to, from 1
	Priority int           // −20 … 19, lower runs first
	HasArgs  bool          // false: the job carries no argument at all (SQL NULL)
	Args     string        // the argument, or the item as name="value" pairs
	Columns  []Column      // an item's columns, for dialects that do not take pairs; nil for a job
	Key      string        // the job's key, empty when it has none
	Vars     Vars          // the job's variables
	Trace    string        // W3C traceparent for the agent, empty when there is none: the row's, or the span of its run
	Origin   *Origin       // where its times and its trace begin
	Timeout  time.Duration // 0: the type's own
	RunOn    string        // an item's: the host or locality key it names; empty: anywhere

	MaxAttempts int // of the job; 1: as its type says; negative: so many, and it says so itself
	Deaths      int // of agents at the job's hands, before this line

	// Assigned: when it was claimed no child was up for it, so its row says
	// assigned (an item's says nothing) and a child has to come up.
	Assigned bool
	Locked   bool // its job holds locks: it was claimed in a pass, or its agent has asked for some

	Kept *Earlier // what earlier attempts have done; nil: nothing is kept of them
}

// handle names a line: the items of an MSQ job share its claim.
type handle struct {
	Claim
	item int64
}

func (l *Line) handle() handle { return handle{l.Claim, l.Item} }

// Job is what a claim returns: the line, and what the scheduler itself needs.
type Job struct {
	Line
	Type   TypeName
	MSQ    string // the query whose rows are the items; empty: a single job
	Repeat Repeat
	Host   HostName
	Places string // an MSQ job's run_on: where its items run that name no place themselves
}

// Repeat says how often an MSQ job's query is run.
type Repeat string

const (
	// RepeatOnce: one round.
	RepeatOnce Repeat = "once"
	// RepeatUntilEmpty: until the query returns no row.
	RepeatUntilEmpty Repeat = "until_empty"
)

// Column is one column of an item: its name, and its value in PostgreSQL's
// text form (NULL columns are left out of an item).
type Column struct{ Name, Value string }

// Vars is a job's variables as the JSON object that the row holds; empty when
// the job has none. Map decodes it.
type Vars string

// Map returns the variables as strings. A row's constraint has seen to it that
// they are; what is not an object of strings is no variable.
func (v Vars) Map() map[string]string {
	if v == "" {
		return nil
	}
	var m map[string]string
	if json.Unmarshal([]byte(v), &m) != nil {
		return nil
	}
	return m
}
