package client

import (
	"encoding/json"
	"time"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

// The rows that a client gives. Their JSON keys are the columns' names, and
// what is NULL is null.

// JobRow is a job as every reader may see it.
type JobRow struct {
	ID              JobID      `json:"id"`
	State           State      `json:"state"`
	Type            TypeName   `json:"type"`
	Priority        int        `json:"priority"`
	PriorityName    *string    `json:"priority_name"`
	Key             *string    `json:"key"`
	RunOn           *string    `json:"run_on"`
	Host            *string    `json:"host"`
	Child           *string    `json:"child"`
	Instance        *int64     `json:"instance"`
	Attempt         int        `json:"attempt"`
	MaxAttempts     int        `json:"max_attempts"`
	Fence           int64      `json:"fence"`
	CreatedAt       time.Time  `json:"created_at"`
	RunAt           *time.Time `json:"run_at"`    // nil: at once; Never: not by itself
	NotAfter        *time.Time `json:"not_after"` // it expires when it has not begun by then
	StartedAt       *time.Time `json:"started_at"`
	EndedAt         *time.Time `json:"ended_at"`
	ExitCode        *int       `json:"exit_code"`
	Error           *string    `json:"error"`
	WaitingFor      *string    `json:"waiting_for"`
	CancelRequested bool       `json:"cancel_requested"`
	OnFailure       string     `json:"on_failure"`
	Locks           []string   `json:"locks"`
	Reasons         []string   `json:"reasons"`
	IsMSQ           bool       `json:"is_msq"`
	ItemsTotal      *int64     `json:"items_total"`
	ItemsDone       *int64     `json:"items_done"`
	ItemsFailed     *int64     `json:"items_failed"`
	Progress        *float32   `json:"progress"`      // 0 … 1
	ProgressText    *string    `json:"progress_text"` // for operators, and the job's submitter
	Traceparent     *string    `json:"traceparent"`
	EndedAs         *EndedAs   `json:"ended_as"` // of one that succeeded: it had nothing to do
}

func jobRow(r store.JobRow) JobRow {
	return JobRow{
		ID:              r.ID,
		State:           r.State,
		Type:            r.Type,
		Priority:        r.Priority,
		PriorityName:    r.PriorityName,
		Key:             r.Key,
		RunOn:           r.RunOn,
		Host:            r.Host,
		Child:           r.Child,
		Instance:        r.Instance,
		Attempt:         r.Attempt,
		MaxAttempts:     r.MaxAttempts,
		Fence:           r.Fence,
		CreatedAt:       r.CreatedAt,
		RunAt:           moment(r.RunAt),
		NotAfter:        moment(r.NotAfter),
		StartedAt:       r.StartedAt,
		EndedAt:         r.EndedAt,
		ExitCode:        r.ExitCode,
		Error:           r.Error,
		WaitingFor:      r.WaitingFor,
		CancelRequested: r.CancelRequested,
		OnFailure:       r.OnFailure,
		Locks:           r.Locks,
		Reasons:         r.Reasons,
		IsMSQ:           r.IsMSQ,
		ItemsTotal:      r.ItemsTotal,
		ItemsDone:       r.ItemsDone,
		ItemsFailed:     r.ItemsFailed,
		Progress:        r.Progress,
		ProgressText:    r.ProgressText,
		Traceparent:     r.Traceparent,
		EndedAs:         r.EndedAs,
	}
}

// Payload is what only operators may see of a job.
type Payload struct {
	Job       JobID             `json:"id"`
	Args      *string           `json:"args"`
	MSQ       *string           `json:"msq"`
	Repeat    *string           `json:"repeat"`
	Vars      map[string]string `json:"vars"`
	Timeout   *string           `json:"timeout"` // as PostgreSQL writes an interval
	Held      bool              `json:"held"`
	Successes *int              `json:"successes"`
	Deaths    int               `json:"deaths"` // of agents at the job's hands
}

// Attempt is one try at a job.
type Attempt struct {
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

// LostRun is a run that was lost with its host or instance, and given back.
type LostRun struct {
	Attempt   int        `json:"attempt"` // that it would have been
	Host      *string    `json:"host"`
	Child     *string    `json:"child"`
	Instance  *int64     `json:"instance"`
	SpawnedAt *time.Time `json:"spawned_at"`
	StartedAt *time.Time `json:"started_at"`
	LostAt    time.Time  `json:"lost_at"`
	Reason    string     `json:"reason"`
}

// FailedItem is an item of an MSQ job that failed for good.
type FailedItem struct {
	Fence    int64     `json:"fence"`
	Item     int64     `json:"item"` // its number in the job, from 1
	Line     string    `json:"line"`
	Tries    int       `json:"tries"`
	ExitCode *int      `json:"exit_code"`
	Error    *string   `json:"error"`
	At       time.Time `json:"at"`
}

// Reason is one reason why a job does not run, or ended as it did.
type Reason struct {
	Code     string `json:"code"` // docs/explain.md has them all
	Sentence string `json:"sentence"`
	Next     string `json:"next"` // the command that would change it; may be empty
}

// Graph is jobs that need each other.
type Graph struct {
	Nodes []Node       `json:"nodes"`
	Edges []Dependency `json:"edges"`
}

// Node is a job of a graph.
type Node struct {
	ID         JobID    `json:"id"`
	Key        *string  `json:"key"`
	Type       TypeName `json:"type"`
	State      State    `json:"state"`
	ExitCode   *int     `json:"exit_code"`
	Error      *string  `json:"error"`
	WaitingFor *string  `json:"waiting_for"`
}

// Dependency is a job's need of another one.
type Dependency struct {
	Job    JobID    `json:"job"`
	Needs  JobID    `json:"needs"`
	Wanted []string `json:"wanted"` // the states that count as an end
	Met    bool     `json:"met"`
}

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

// LogLine is one line that was said about a job.
type LogLine struct {
	ID      int64     `json:"id"`
	Job     JobID     `json:"job"`
	Attempt *int      `json:"attempt"`
	Child   *string   `json:"child"`
	Host    *string   `json:"host"`
	Level   Level     `json:"level"`
	At      time.Time `json:"at"`
	Line    string    `json:"line"`
}

// Host is where children of an instance run.
type Host struct {
	Instance int64    `json:"instance"`
	Name     string   `json:"name"`
	Slots    int      `json:"slots"`
	Serves   []string `json:"serves"`
	State    string   `json:"state"`    // up, connecting or down
	Trouble  *string  `json:"trouble"`  // why it is down
	Locates  bool     `json:"locates"`  // its instance asks a query where the host of a key is
	Children int      `json:"children"` // how many it has
	Running  int      `json:"running"`  // how many of them work
}

// Agent is what an instance has configured for a type.
type Agent struct {
	Instance   int64           `json:"instance"`
	Type       TypeName        `json:"type"`
	Mode       string          `json:"mode"` // warm or exec
	Dialect    string          `json:"dialect"`
	Command    string          `json:"command"`
	Max        int             `json:"max"`
	MaxPerHost int             `json:"max_per_host"`
	Trouble    json.RawMessage `json:"trouble"` // by host, why no child of it comes up there
	Vars       []string        `json:"vars"`    // names and patterns of the job vars that it takes; nil: not told
}

// Child is a process of an agent, as its instance last told of it.
type Child struct {
	Instance int64               `json:"instance"`
	Host     string              `json:"host"`
	Name     scheduler.ChildName `json:"name"`
	Type     TypeName            `json:"type"`
	State    string              `json:"state"`
	PID      *int                `json:"pid"`
	Job      *int64              `json:"job"` // that it works on
	Since    time.Time           `json:"since"`
	Done     int64               `json:"done"` // lines
	Deaths   int64               `json:"deaths"`
}

// Instance is a running `bellhop serve`.
type Instance struct {
	ID          int64     `json:"id"`
	Name        string    `json:"name"`
	Hostname    string    `json:"hostname"`
	PID         int       `json:"pid"`
	Version     string    `json:"version"`
	State       string    `json:"state"`
	StartedAt   time.Time `json:"started_at"`
	HeartbeatAt time.Time `json:"heartbeat_at"`
	Lag         string    `json:"lag"`  // after so much silence it is taken for dead; as PostgreSQL writes an interval
	Jobs        int64     `json:"jobs"` // that it has claimed
}

// Backlog is how many jobs are in a state that is not over (or is Failed or
// Quarantined), and why the first of them waits. 10000 are counted at most.
// Ready and Running ones (Assigned among these) are told by type; of others Type is empty.
type Backlog struct {
	State State    `json:"state"`
	Type  TypeName `json:"type"`
	Jobs  int64    `json:"jobs"`
	Why   string   `json:"why"`
}
