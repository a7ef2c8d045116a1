package scheduler

// JobID is a row of bellhop.jobqueue.
type JobID int64

// Fence grows with every claim of a job. Together with the InstanceID it names
// one claim: a write under any other pair changes nothing.
type Fence int64

// InstanceID is one running `bellhop serve`, as registered in the database.
// A restart is another instance.
type InstanceID int64

// TypeName names a kind of work and the agent that does it.
type TypeName string

// HostName names a place where children run.
type HostName string

// ChildName names one child of a type on a host: "license.2".
type ChildName string
