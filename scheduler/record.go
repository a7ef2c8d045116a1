package scheduler

import (
	"slices"
	"time"
)

// RecordKind says which write ends, or goes on with, a claim.
type RecordKind uint8

const (
	// RecordStart: an assigned job is in a child's hands now.
	RecordStart RecordKind = iota
	// RecordRequeue: the claim is undone.
	RecordRequeue
	// RecordSettle: the attempt is over.
	RecordSettle
)

// Record is one write that the ledger owes the database about one claim.
type Record struct {
	Kind    RecordKind
	Claim   Claim
	Attempt int // Start and Settle: with Host and CreatedAt, what is needed to take a lost claim again
	Host    HostName
	// CreatedAt is when the job was submitted, on the database's clock.
	CreatedAt time.Time
	// Start: when the line was given to its child, and when the child was launched that the claim had to wait for; zero:
	// it was up already.
	Given, Launched time.Time
	Why             string // GiveBack: what it waits for now, empty when there is nothing to say
	// GiveBack: why its run was lost; empty: it had not begun. Then Result tells when and where it ran.
	Lost    string
	Rest    *Resting // Requeue: the job sleeps, or awaits an event, until it goes on; nil: it does not
	Result  Result   // Settle
	Verdict Verdict  // Settle
	Items   *Items   // Settle of an MSQ job: its final counts
}

// Line is what the result is of; empty where there is none.
func (r *Record) Line() *Line {
	if r.Result.Line == nil {
		return &Line{}
	}
	return r.Result.Line
}

// Plain reports whether the record is the commonest one, a first attempt of a
// single job that succeeded, for which a narrower statement will do.
func (r *Record) Plain() bool {
	return r.Kind == RecordSettle && r.Attempt == 1 && r.Items == nil && r.Verdict.State == Succeeded
}

// EndedAs is how a job that succeeded says that it had nothing to do.
func (r *Record) EndedAs() EndedAs {
	if r.Kind != RecordSettle || r.Verdict.State != Succeeded || r.Result.Answer == nil {
		return ""
	}
	return r.Result.Answer.EndedAs
}

// Hurries reports whether another job or instance may wait for the record: for locks that its job holds, or for the
// job itself. Which locks an MSQ job holds is not known.
func (r *Record) Hurries() bool {
	return r.Kind != RecordSettle || r.Items != nil || r.Line().Locked
}

// restMost bounds Rest.
const restMost = 5 * time.Millisecond

// Rest is how long the writer waits for more outcomes after a write that took that long and had that many outcomes:
// a write costs the server about as much for one as for ten. If each outcome follows the write of the one before,
// the next seldom comes within the rest.
func Rest(took time.Duration, outcomes int) time.Duration {
	return min(3*took*time.Duration(max(1, outcomes)), restMost) // what agents say gathers, too
}

// Items is how far an MSQ job has come.
type Items struct {
	Total  int64 // −1: the last row has not been read yet
	Done   int64
	Failed int64
}

// Progress is the Items of a running MSQ job.
type Progress struct {
	Claim
	Items
	Waits string // what stands in waiting_for: of which items none runs; empty: of none
}

// FailedItem is an item that failed for good.
type FailedItem struct {
	Claim
	Item     int64
	Line     string
	Tries    int
	ExitCode int
	Error    string
}

// Demand is what one claim asks of the queue for one host: jobs that start at
// once, or such that wait for their children to come up.
type Demand struct {
	Host       HostName
	Localities []string // what the host answers to in run_on
	Types      []TypeDemand
	Assigned   bool // their children have yet to come up
	Total      int  // the most jobs in all
	MSQ        bool // MSQ jobs too: there is a cursor to spare
	// Readmitted grows whenever jobs may have become ready that were there before: by a
	// retry, a release, the clock.
	Readmitted uint64
	Scans      uint64     // how often of these there was no sign of it: safety scans, and looks at the clock in vain
	Ring       uint64     // grows whenever anything may have become ready
	Preemptors []TypeName // types that would come up if there were room: nothing less urgent than their jobs starts
	Only       *Only      // what the host takes of these; nil: everything
	Locked     bool       // of jobs with locks, and no others: a pass. Without Types it hands on what is free
}

// RJMType is the agent of RJM's workers: it takes RJM's jobs of every type that
// the instance has no agent for.
const RJMType TypeName = "rjm"

// Only is what a host takes of that for which it has agents; nil: everything.
type Only struct {
	RJM        string // the types of RJM's jobs must match this regular expression (POSIX, as egrep's); empty: any type
	Names      string // and priority_name this one,
	Priorities []int  // or the priority is one of these; both empty: any priority
}

// Takes reports whether jobs of a priority, whatever its name, are taken.
func (o *Only) Takes(priority int) bool {
	return o == nil || o.Names == "" && o.Priorities == nil || slices.Contains(o.Priorities, priority)
}

// TypeDemand is how many jobs of a type a host can take.
type TypeDemand struct {
	Type        TypeName
	Limit       int
	MaxPriority int // jobs of a worse priority than this are not to start now
	// Turn: of the jobs of one priority, those of the types with the least of this start first.
	Turn int
	// Placed: only such that name a place; a child elsewhere waits for the others.
	Placed bool
}

// Hold is a claim with what is needed to re-assert it.
type Hold struct {
	Claim
	Attempt   int
	Host      HostName
	CreatedAt time.Time // when its job was submitted: the id alone may be another job's on another server
	Cancel    bool      // its job was asked to stop
	CancelNow bool      // at once
	Locked    bool      // it was claimed in a pass: others may wait for what it holds
	Over      bool      // nothing of it runs any more; what became of it may not be written yet
}

// Asserted is what comes of saying to a database what runs here.
type Asserted struct {
	Again int // claims that a crash of the database had undone, and that are ours again
	// Lost are claims of runs that cannot be ours again. Those have to end first: it is not asserted yet.
	Lost []Claim
	Not  []string // the other live instances that have not asserted since the database last crashed
}

// Era is a stretch of a server's life in which nothing that was committed is lost. Another one begins with each
// crash, promotion and restore.
type Era struct {
	Server string // which server, which database on it, and on which timeline
	Floor  Fence  // claims of this era have no lower fence
}

// Suspect is another live instance, as the database knows it.
type Suspect struct {
	ID           InstanceID
	Name         string
	Machine      string
	Pid          int
	ProcessStart string
	Silent       bool // for longer than it promised
	Types        []TypeName
}

// ChildReport is what others see of a child.
type ChildReport struct {
	Host   HostName
	Name   ChildName
	Type   TypeName
	State  ChildState
	Pid    int
	Job    JobID
	Since  time.Time
	Done   int64
	Deaths int64
	Kept   Kept
}

// Kept says until when a child with nothing to do keeps its slot from a type
// whose jobs wait for it. The zero value: it does not.
type Kept struct {
	From  TypeName
	Until time.Time
	Most  bool // limits.min_ready says so; else what a start takes
}

// Batch is what the ledger writes in one transaction.
type Batch struct {
	Records        []Record
	Entries        []Entry
	Progress       []Progress
	Failed         []FailedItem
	HowFar         []HowFar // the latest of each job
	Ring           []JobID  // of the jobs that end in Records, those that a client waits for
	MaybeCommitted bool     // an earlier try may have been committed
}

// Jobs lists the jobs to whose rows something is to be written.
func (b Batch) Jobs() (jobs []JobID) {
	seen := map[JobID]bool{}
	add := func(j JobID) {
		if !seen[j] {
			seen[j] = true
			jobs = append(jobs, j)
		}
	}
	for i := range b.Records {
		add(b.Records[i].Claim.Job)
	}
	for _, p := range b.Progress {
		add(p.Job)
	}
	for _, h := range b.HowFar {
		add(h.Job)
	}
	return jobs
}

// Split takes apart what is to be written to the rows of some jobs, and all the
// rest, both in their order.
func (b Batch) Split(jobs []JobID) (of, rest Batch) {
	which := make(map[JobID]bool, len(jobs))
	for _, j := range jobs {
		which[j] = true
	}
	of.MaybeCommitted, rest = b.MaybeCommitted, Batch{
		Entries:        b.Entries,
		Failed:         b.Failed,
		MaybeCommitted: b.MaybeCommitted,
	}
	for _, r := range b.Records {
		part := &rest
		if which[r.Claim.Job] {
			part = &of
		}
		part.Records = append(part.Records, r)
	}
	for _, p := range b.Progress {
		part := &rest
		if which[p.Job] {
			part = &of
		}
		part.Progress = append(part.Progress, p)
	}
	for _, h := range b.HowFar {
		part := &rest
		if which[h.Job] {
			part = &of
		}
		part.HowFar = append(part.HowFar, h)
	}
	return of, rest
}

// Empty reports whether there is nothing to write.
func (b Batch) Empty() bool {
	return len(b.Records) == 0 && len(b.Entries) == 0 && len(b.Progress) == 0 && len(b.Failed) == 0 && len(b.HowFar) == 0
}
