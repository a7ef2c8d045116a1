package scheduler

import "slices"

// JobState is the column bellhop.jobqueue.state.
type JobState string

const (
	Held        JobState = "held"
	Blocked     JobState = "blocked"
	Scheduled   JobState = "scheduled"
	Ready       JobState = "ready"
	Assigned    JobState = "assigned"
	Running     JobState = "running"
	Succeeded   JobState = "succeeded"
	Failed      JobState = "failed"
	Cancelled   JobState = "cancelled"
	Quarantined JobState = "quarantined"
)

// jobMoves is every move a job can make. The SQL guards, the CHECK constraint
// and docs/state_machines.md are tested against it. Out of a final state only
// `retry` leads.
var jobMoves = map[JobState][]JobState{
	Held:        {Blocked, Scheduled, Ready, Cancelled},
	Blocked:     {Held, Scheduled, Ready, Failed, Cancelled},
	Scheduled:   {Held, Blocked, Ready, Failed, Cancelled},
	Ready:       {Held, Blocked, Scheduled, Assigned, Running, Failed, Cancelled},
	Assigned:    {Running, Ready, Failed, Cancelled},
	Running:     {Assigned, Ready, Blocked, Scheduled, Succeeded, Failed, Cancelled, Quarantined},
	Succeeded:   {Ready, Blocked, Scheduled},
	Failed:      {Ready, Blocked, Scheduled},
	Cancelled:   {Ready, Blocked, Scheduled},
	Quarantined: {Ready, Blocked, Scheduled},
}

// JobStates lists the states in the order of a job's life.
var JobStates = []JobState{
	Held,
	Blocked,
	Scheduled,
	Ready,
	Assigned,
	Running,
	Succeeded,
	Failed,
	Cancelled,
	Quarantined,
}

// Final reports whether a job in this state is over: only `retry` changes it.
func (s JobState) Final() bool {
	return s == Succeeded || s == Failed || s == Cancelled || s == Quarantined
}

// Predicate says what a job in this state is or did, for a sentence: "failed", "was cancelled", "is ready".
func (s JobState) Predicate() string {
	switch s {
	case Succeeded, Failed:
		return string(s)
	case Cancelled:
		return "was cancelled"
	}
	return "is " + string(s)
}

// Valid reports whether s is a state at all.
func (s JobState) Valid() bool { return jobMoves[s] != nil }

// CanBecome reports whether a job may go from s to next.
func (s JobState) CanBecome(next JobState) bool { return slices.Contains(jobMoves[s], next) }
