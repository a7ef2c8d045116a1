package view

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	lookWorkflowsSQL      = sql.Query("look_workflows")
	lookProjectsSQL       = sql.Query("look_projects")
	lookWorkflowTypesSQL  = sql.Query("look_workflow_types")
	lookUnservedSQL       = sql.Query("look_unserved")
	lookDefinitionsSQL    = sql.Query("look_definitions")
	lookVersionsSQL       = sql.Query("look_versions")
	lookVersionSQL        = sql.Query("look_version")
	lookRunsSQL           = sql.Query("look_runs")
	lookStepsSQL          = sql.Query("look_steps")
	explainWorkflowSQL    = sql.Query("look_explain_workflow")
	lookWorkflowApplySQL  = sql.Query("look_workflow_apply")
	lookWorkflowChangeSQL = sql.Query("look_workflow_change")
	lookWorkflowRunSQL    = sql.Query("look_workflow_run")
	lookEventsSQL         = sql.Query("look_events")
	lookSkippedSQL        = sql.Query("look_skipped")
	lookWorkflowRetrySQL  = sql.Query("look_workflow_retry")
	lookManagerSQL        = sql.Query("look_manager")
	lookManagerChangeSQL  = sql.Query("look_manager_change")
)

// WorkflowRow is a workflow in a list, with its last run.
type WorkflowRow struct {
	Name         string                `json:"name"`
	Project      string                `json:"project"`
	Active       bool                  `json:"active"`
	Version      int                   `json:"version"`
	Instance     *scheduler.InstanceID `json:"instance"`
	ChangedAt    time.Time             `json:"changed_at"`
	ChangedBy    string                `json:"changed_by"`
	Sensor       *string               `json:"sensor"`   // its kind; nil: none, or none that is looked at
	Schedule     *string               `json:"schedule"` // bellhop.schedule_of; nil: no clock starts it
	Source       *string               `json:"-"`        // the workflow, topic or channel that it watches
	NextFire     *time.Time            `json:"next_fire"`
	FiredAt      *time.Time            `json:"fired_at"`
	Problem      *string               `json:"problem"`
	Lag          *int64                `json:"lag"` // messages not read yet; nil: not known, or no topic
	Run          *int64                `json:"run"`
	State        *string               `json:"state"`
	RunCreatedAt *time.Time            `json:"run_created_at"`
	RunEndedAt   *time.Time            `json:"run_ended_at"`
}

// DefinitionRow is a version of a workflow as it is kept.
type DefinitionRow struct {
	Name       string          `json:"name"`
	Version    int             `json:"version"`
	Definition json.RawMessage `json:"definition"`
}

// VersionRow is a version in a list.
type VersionRow struct {
	Version   int       `json:"version"`
	What      string    `json:"what"`
	Active    bool      `json:"active"`
	ChangedAt time.Time `json:"changed_at"`
	ChangedBy string    `json:"changed_by"`
}

// RunRow is a run.
type RunRow struct {
	ID          int64      `json:"id"`
	Workflow    string     `json:"workflow"`
	Version     int        `json:"version"`
	Event       *string    `json:"event"`
	TriggeredBy string     `json:"triggered_by"`
	State       string     `json:"state"`
	CreatedAt   time.Time  `json:"created_at"`
	StartedAt   *time.Time `json:"started_at"`
	EndedAt     *time.Time `json:"ended_at"`
	Reason      *string    `json:"reason"`
}

// EventRow is something that has happened to a workflow, once, and the run that it came to.
type EventRow struct {
	Workflow string    `json:"workflow"`
	Event    string    `json:"event"`
	At       time.Time `json:"at"`
	Run      *int64    `json:"run"`
	State    string    `json:"state"` // of the run; waiting: none was made of it yet
	Reason   *string   `json:"reason"`
}

// StepRow is a job of a run.
type StepRow struct {
	Step      *string            `json:"step"`
	Job       scheduler.JobID    `json:"job"`
	Type      scheduler.TypeName `json:"type"`
	State     scheduler.JobState `json:"state"`
	Attempt   int                `json:"attempt"`
	ExitCode  *int               `json:"exit_code"`
	StartedAt *time.Time         `json:"started_at"`
	AttemptAt *time.Time         `json:"-"` // when its last attempt began, if that is not the first
	EndedAt   *time.Time         `json:"ended_at"`
	EndedAs   *scheduler.EndedAs `json:"ended_as"`
	Cause     *string            `json:"cause"` // what became of one that failed on an engine
	Error     *string            `json:"error"` // why it failed
}

// ManagerRow is an instance and the workflows it has.
type ManagerRow struct {
	ID        scheduler.InstanceID `json:"id"`
	Name      string               `json:"name"`
	Starts    bool                 `json:"starts"` // its sensors start workflows
	Workflows int                  `json:"workflows"`
	StoppedAt *time.Time           `json:"stopped_at"`
	StoppedBy *string              `json:"stopped_by"`
}

// Manager lists the live instances, and whether their sensors start workflows.
func (l Look) Manager(ctx context.Context) ([]ManagerRow, error) {
	return collect[ManagerRow](ctx, l.db, "list instances", lookManagerSQL)
}

// ChangeManager stops or starts the sensors of the instances of a name; empty: of all. It gives
// how many start workflows now.
func (l Look) ChangeManager(ctx context.Context, what, name string) (n int, err error) {
	return value[int](ctx, l.db, what+" manager", lookManagerChangeSQL, what, name)
}

// Like turns patterns in which * stands for any letters and ? for one letter into those of LIKE; nil: all.
func Like(patterns []string) (list []string) {
	for _, p := range patterns {
		list = append(list, strings.NewReplacer(`*`, `%`, `?`, `_`).Replace(Exactly(p)[0]))
	}
	return list
}

// Exactly turns a name into patterns of LIKE that mean no other.
func Exactly(name string) []string {
	return []string{strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(name)}
}

// WorkflowFilter says which workflows are listed; what is nil is no filter.
type WorkflowFilter struct {
	Names   []string // patterns of LIKE
	AnyCase bool     // letters' case does not count in them
	Project *string
	Active  *bool
	Sensor  *string // the kind of what starts them; NoSensor: nothing does
}

// NoSensor is the kind of the sensor of a workflow that has none.
const NoSensor = "none"

// Workflows lists the workflows that a filter lets through, by name.
func (l Look) Workflows(ctx context.Context, f WorkflowFilter) ([]WorkflowRow, error) {
	return collect[WorkflowRow](ctx, l.db, "list workflows",
		lookWorkflowsSQL, f.Names, !f.AnyCase, f.Project, f.Active, f.Sensor)
}

// ProjectRow is a project and how its workflows do.
type ProjectRow struct {
	Project   string `json:"project"` // empty: of none
	Workflows int    `json:"workflows"`
	Active    int    `json:"active"`
	Running   int    `json:"running"` // runs
	Queued    int    `json:"queued"`
	Failed    int    `json:"failed"` // within a day
}

// Projects lists the projects of workflows.
func (l Look) Projects(ctx context.Context) ([]ProjectRow, error) {
	return collect[ProjectRow](ctx, l.db, "list projects", lookProjectsSQL)
}

// WorkflowsUsing names the workflows that have a step of a type.
func (l Look) WorkflowsUsing(ctx context.Context, typ string) ([]string, error) {
	rows, err := l.db.Query(ctx, lookWorkflowTypesSQL, typ)
	if err == nil {
		var names []string
		if names, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil {
			return names, nil
		}
	}
	return nil, fmt.Errorf("list workflows: %w", err)
}

// Definitions gives the definitions of workflows whose names are like one of the patterns (nil: all).
func (l Look) Definitions(ctx context.Context, patterns []string) ([]DefinitionRow, error) {
	return collect[DefinitionRow](ctx, l.db, "read workflows", lookDefinitionsSQL, patterns)
}

// Versions lists the versions of a workflow.
func (l Look) Versions(ctx context.Context, name string) ([]VersionRow, error) {
	return collect[VersionRow](ctx, l.db, "list versions", lookVersionsSQL, name)
}

// Version gives one; ok false: there is none.
func (l Look) Version(ctx context.Context, name string, version int) (d DefinitionRow, ok bool, err error) {
	return first(collect[DefinitionRow](ctx, l.db, "read version", lookVersionSQL, name, version))
}

// Runs lists the last runs, the latest first: of a workflow (nil: of all), or one by its id.
func (l Look) Runs(ctx context.Context, name *string, id *int64, most int) ([]RunRow, error) {
	return collect[RunRow](ctx, l.db, "list runs", lookRunsSQL, name, id, most)
}

// Steps lists the jobs of a run.
func (l Look) Steps(ctx context.Context, run int64) ([]StepRow, error) {
	return collect[StepRow](ctx, l.db, "list steps", lookStepsSQL, run)
}

// ApplyWorkflow writes a definition; version nil: whichever there is. It gives the version it has now.
func (l Look) ApplyWorkflow(ctx context.Context, definition []byte, version *int) (now int, err error) {
	return value[int](ctx, l.db, "apply workflow", lookWorkflowApplySQL, string(definition), version)
}

// Unserved says which types of a definition's steps no running instance has an agent of, and
// what to type; none, too, where no instance runs.
func (l Look) Unserved(ctx context.Context, definition []byte) ([]ReasonRow, error) {
	return collect[ReasonRow](ctx, l.db, "look up instances that serve its steps", lookUnservedSQL, string(definition))
}

// ChangeWorkflow has it activated, deactivated or deleted; version nil: whichever there is. was is nil: there is none;
// false: it was so already.
func (l Look) ChangeWorkflow(ctx context.Context, name, what string, version *int) (was *bool, err error) {
	return value[*bool](ctx, l.db, "change workflow", lookWorkflowChangeSQL, name, what, version)
}

// ByHand is how a run is started by hand.
type ByHand struct {
	Parameters map[string]string
	Steps      []string // nil: all
	Event      *string  // one that was skipped; its parameters are the run's, but for those above
}

// Events lists what has happened to a workflow, the newest first; state nil: whatever became of it.
func (l Look) Events(ctx context.Context, name string, state *string, most int) ([]EventRow, error) {
	return collect[EventRow](ctx, l.db, "list events", lookEventsSQL, name, most, state)
}

// SkippedEvents lists the events of a workflow that were skipped, the oldest first: not those whose run began and found
// nothing to do.
func (l Look) SkippedEvents(ctx context.Context, name string, most int) ([]EventRow, error) {
	return collect[EventRow](ctx, l.db, "list skipped events", lookSkippedSQL, name, most)
}

// RunWorkflow starts a run by hand and gives its id; nil: there is no such workflow.
func (l Look) RunWorkflow(ctx context.Context, name string, by ByHand) (id *int64, err error) {
	text, err := json.Marshal(by.Parameters)
	if err != nil {
		return nil, err
	}
	if by.Parameters == nil {
		text = []byte("{}")
	}
	return value[*int64](ctx, l.db, "run workflow", lookWorkflowRunSQL, name, string(text), by.Steps, by.Event)
}

// RetryRun has a run that failed go on; n is how many steps are tried again; nil: there is no such run.
func (l Look) RetryRun(ctx context.Context, run int64) (n *int, err error) {
	return value[*int](ctx, l.db, "retry run", lookWorkflowRetrySQL, run)
}

// ExplainWorkflow says what starts a workflow, and what keeps it from being
// started; none: there is no such workflow.
func (l Look) ExplainWorkflow(ctx context.Context, name string) ([]ReasonRow, error) {
	return collect[ReasonRow](ctx, l.db, fmt.Sprintf("explain workflow %s", name), explainWorkflowSQL, name)
}
