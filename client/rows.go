package client

import (
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// The rows that a client gives. Their JSON keys are the columns' names, and
// what is NULL is nil, and null. REST and `-o json` have the same ones.
type (
	JobRow     = view.JobRow      // a job as every reader may see it
	Moment     = view.Moment      // a time that may be Never
	Payload    = view.PayloadRow  // what only operators may see of a job
	Attempt    = view.AttemptRow  // one try at a job
	LostRun    = view.LostRow     // a run that was lost with its host or instance, and given back
	FailedItem = view.SeenItemRow // an item of an MSQ job that failed for good
	Reason     = view.ReasonRow   // why a job does not run, or ended as it did; docs/explain.md has all codes
	Graph      = view.Graph       // jobs that need each other
	Node       = view.Node        // a job of a graph
	Dependency = view.Dependency  // a job's need of another one
	LogLine    = view.LogRow      // one line that was said about a job
	Outcome    = view.OutcomeRow  // how far a job is
	JobError   = view.JobError    // the error of a job that is over and did not succeed
	Change     = view.Change      // what became of a job that was to be changed
	BatchCount = view.BatchCount  // how the jobs of a batch stand
	Host       = view.HostRow     // where children of an instance run
	Agent      = view.AgentRow    // what an instance has configured for a type
	Child      = view.ChildRow    // a process of an agent, as its instance last told of it
	Instance   = view.InstanceRow // a running `bellhop serve`
	Backlog    = view.QueueRow    // how many jobs are in a state that is not over, failed or quarantined
)

// Never is the time of what is not to happen by itself: PostgreSQL's infinity.
var Never = view.Never

// Level says whose words a line of a log is.
type Level = scheduler.Level

// The levels of lines.
const (
	LevelOut   = scheduler.LevelOut   // an exec agent's stdout
	LevelErr   = scheduler.LevelErr   // any agent's stderr
	LevelDebug = scheduler.LevelDebug // what an agent that stays up said that is no word of its protocol
	LevelInfo  = scheduler.LevelInfo  // what it logged
	LevelError = scheduler.LevelError // what it logged as an error
	LevelNote  = scheduler.LevelNote  // what the scheduler noted about the job
)
