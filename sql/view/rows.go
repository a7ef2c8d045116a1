package view

import (
	"encoding/json"
	"time"

	"bellhop/scheduler"
)

// JobRow is a job as every reader may see it. JSON keys are the columns' names;
// what is NULL is null.
type JobRow struct {
	ID              scheduler.JobID    `json:"id"`
	State           scheduler.JobState `json:"state"`
	Type            scheduler.TypeName `json:"type"`
	Priority        int                `json:"priority"`
	PriorityName    *string            `json:"priority_name"`
	Key             *string            `json:"key"`
	RunOn           *string            `json:"run_on"`
	Share           *string            `json:"share"`
	Host            *string            `json:"host"`
	Child           *string            `json:"child"`
	Instance        *int64             `json:"instance"`
	Attempt         int                `json:"attempt"`
	MaxAttempts     int                `json:"max_attempts"`
	Fence           int64              `json:"fence"`
	CreatedAt       time.Time          `json:"created_at"`
	RunAt           *Moment            `json:"run_at"`    // nil: at once; Never: not by itself
	NotAfter        *Moment            `json:"not_after"` // it expires when it has not begun by then
	StartedAt       *time.Time         `json:"started_at"`
	EndedAt         *time.Time         `json:"ended_at"`
	ExitCode        *int               `json:"exit_code"`
	Error           *string            `json:"error"`
	WaitingFor      *string            `json:"waiting_for"`
	CancelRequested bool               `json:"cancel_requested"`
	OnFailure       string             `json:"on_failure"`
	Locks           []string           `json:"locks"`
	Reasons         []string           `json:"reasons"`
	IsMSQ           bool               `json:"is_msq"`
	ItemsTotal      *int64             `json:"items_total"`
	ItemsDone       *int64             `json:"items_done"`
	ItemsFailed     *int64             `json:"items_failed"`
	Progress        *float32           `json:"progress"`      // 0 … 1
	ProgressText    *string            `json:"progress_text"` // for operators, and the job's submitter
	Traceparent     *string            `json:"traceparent"`
	Run             *int64             `json:"run"` // of a workflow
	Step            *string            `json:"step"`
	EndedAs         *scheduler.EndedAs `json:"ended_as"` // of one that succeeded: it had nothing to do
	SubmittedBy     *string            `json:"submitted_by"`
	Age             float64            `json:"-"` // seconds since created_at, on the database's clock
}

// PayloadRow is what only operators may see of a job.
type PayloadRow struct {
	Job       scheduler.JobID   `json:"-" db:"id"`
	Args      *string           `json:"args"`
	MSQ       *string           `json:"msq"`
	Repeat    *string           `json:"repeat"`
	Vars      map[string]string `json:"vars" nullable:"true"`
	Timeout   *string           `json:"timeout"` // as PostgreSQL writes an interval
	Held      bool              `json:"held"`
	Successes *int              `json:"successes"`
	Deaths    int               `json:"deaths"` // of agents at the job's hands
}

// AttemptRow is one try at a job.
type AttemptRow struct {
	Attempt   int        `json:"attempt"` // from 1
	Host      *string    `json:"host"`
	Child     *string    `json:"child"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	ExitCode  *int       `json:"exit_code"`
	Error     *string    `json:"error"`
	Successes *int       `json:"successes"`
	SpawnedAt *time.Time `json:"spawned_at"` // when the child was launched that it had to wait for
}

// LostRow is a run that was lost with its host or instance, and given back: no attempt.
type LostRow struct {
	Attempt   int        `json:"attempt"` // that it would have been
	Host      *string    `json:"host"`
	Child     *string    `json:"child"`
	Instance  *int64     `json:"instance"`
	SpawnedAt *time.Time `json:"spawned_at"`
	StartedAt *time.Time `json:"started_at"`
	LostAt    time.Time  `json:"lost_at"`
	Reason    string     `json:"reason"`
}

// Told is the whole story, for people.
func (r LostRow) Told() string { return "lost: " + r.Reason + ", given back" }

// NeedRow is a job that another one needs.
type NeedRow struct {
	ID        scheduler.JobID    `json:"id"`
	Type      scheduler.TypeName `json:"type"`
	Key       *string            `json:"key"`
	State     scheduler.JobState `json:"state"`
	CreatedAt time.Time          `json:"created_at"`
	StartedAt *time.Time         `json:"started_at"`
	EndedAt   *time.Time         `json:"ended_at"`
}

// SeenItemRow is a failed item of an MSQ job, as far as the caller may see it.
type SeenItemRow struct {
	Fence    int64     `json:"fence"`
	Item     int64     `json:"item"` // its number in the job, from 1
	Line     *string   `json:"line"` // nil: not for this login
	Tries    int       `json:"tries"`
	ExitCode *int      `json:"exit_code"`
	Error    *string   `json:"error"`
	At       time.Time `json:"at"`
}

// LogRow is one line that was said about a job.
type LogRow struct {
	ID      int64           `json:"id"`
	Job     scheduler.JobID `json:"job"`
	Attempt *int            `json:"attempt"`
	Child   *string         `json:"child"`
	Host    *string         `json:"host"`
	Level   scheduler.Level `json:"level"`
	At      time.Time       `json:"at"`
	Line    string          `json:"line"`
}

// HostRow is a host of a live instance, with how many processes it has and how
// many of them work.
type HostRow struct {
	Instance int64  `json:"instance"`
	Name     string `json:"name"`
	Slots    int    `json:"slots"`
	// Resources are what it has besides slots.
	Resources scheduler.Resources `json:"resources"`
	Serves    []string            `json:"serves"`
	State     string              `json:"state"`   // up, connecting or down
	Trouble   *string             `json:"trouble"` // why it is down
	Locates   bool                `json:"locates"` // its instance asks a query where the host of a key is
	Taken     int                 `json:"taken"`   // slots, by children
	Children  int                 `json:"children"`
	Running   int                 `json:"running"`
}

// AgentRow is an agent of a live instance. Trouble says, by host, why no child
// of it comes up there.
type AgentRow struct {
	Instance   int64               `json:"instance"`
	Type       scheduler.TypeName  `json:"type"`
	Mode       string              `json:"mode"` // warm or exec
	Dialect    string              `json:"dialect"`
	Command    string              `json:"command"`
	Max        int                 `json:"max"`
	MaxPerHost int                 `json:"max_per_host"`
	Slots      int                 `json:"slots"`     // of its host, that a child takes
	Resources  scheduler.Resources `json:"resources"` // that a child takes of its host
	Trouble    json.RawMessage     `json:"trouble"`
	Vars       []string            `json:"vars"` // names and patterns of the job vars that it takes; nil: not told
}

// ChildRow is a child as its instance last told of it.
type ChildRow struct {
	Instance int64               `json:"instance"`
	Host     string              `json:"host"`
	Name     scheduler.ChildName `json:"name"`
	Type     scheduler.TypeName  `json:"type"`
	State    string              `json:"state"`
	PID      *int                `json:"pid"`
	Job      *int64              `json:"job"` // that it works on
	Since    time.Time           `json:"since"`
	Done     int64               `json:"done"` // lines
	Deaths   int64               `json:"deaths"`
	Age      float64             `json:"-"` // seconds since Since, on the database's clock
}

// InstanceRow is a live instance. Jobs is how many it holds.
type InstanceRow struct {
	ID          int64     `json:"id"`
	Name        string    `json:"name"`
	Hostname    string    `json:"hostname"`
	PID         int       `json:"pid"`
	Version     string    `json:"version"`
	State       string    `json:"state"`
	StartedAt   time.Time `json:"started_at"`
	HeartbeatAt time.Time `json:"heartbeat_at"`
	Lag         string    `json:"lag"` // after so much silence it is taken for dead; as PostgreSQL writes an interval
	Jobs        int64     `json:"jobs"`
	Listen      *string   `json:"listen"` // where it answers, on its machine
	Age         float64   `json:"-"`      // seconds since StartedAt, on the database's clock
	Silent      float64   `json:"-"`      // seconds since HeartbeatAt, on the database's clock
}

// StatsRow is what a type has done. Times are seconds, over the 1000 jobs of
// the type that ended last: from when it could run to its first start, and
// from the start of its last attempt to its end.
type StatsRow struct {
	Type        scheduler.TypeName `json:"type"`
	Held        int64              `json:"held"`
	Blocked     int64              `json:"blocked"`
	Scheduled   int64              `json:"scheduled"`
	Ready       int64              `json:"ready"`
	Assigned    int64              `json:"assigned"`
	Running     int64              `json:"running"`
	Succeeded   int64              `json:"succeeded"`
	Failed      int64              `json:"failed"`
	Cancelled   int64              `json:"cancelled"`
	Quarantined int64              `json:"quarantined"`
	ItemsDone   int64              `json:"items_done"`
	ItemsFailed int64              `json:"items_failed"`
	Deaths      int64              `json:"deaths"`
	Lost        int64              `json:"lost"`      // runs that were given back
	Successes   int64              `json:"successes"` // `Success` lines
	Times
}

// Times are how long jobs waited and ran: half, nine of ten and 99 of 100 stay below so many seconds.
type Times struct {
	WaitP50 *float64 `json:"wait_p50"`
	WaitP90 *float64 `json:"wait_p90"`
	WaitP99 *float64 `json:"wait_p99"`
	RunP50  *float64 `json:"run_p50"`
	RunP90  *float64 `json:"run_p90"`
	RunP99  *float64 `json:"run_p99"`
}

// Each are the times in their order.
func (t Times) Each() []*float64 {
	return []*float64{t.WaitP50, t.WaitP90, t.WaitP99, t.RunP50, t.RunP90, t.RunP99}
}

// ReasonRow is one reason why a job does not run, or ended as it did.
type ReasonRow struct {
	Code     string `json:"code"` // docs/explain.md has them all
	Sentence string `json:"sentence"`
	Next     string `json:"next"` // the command that would change it; may be empty
}

// QueueRow is how many jobs are in a state that is not over (or is failed or
// quarantined), and why the first of them waits. 10000 are counted at most.
// Ready, assigned and running ones are told by type; of others Type is empty.
type QueueRow struct {
	State scheduler.JobState `json:"state"`
	Type  scheduler.TypeName `json:"type"`
	Jobs  int64              `json:"n" db:"n"`
	Why   string             `json:"why"`
}
