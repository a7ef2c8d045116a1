package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
	"bellhop/verb"
)

// jobsMost is how many jobs one call changes. For more there are operations.
const jobsMost = 200

// asked is what a tool that changes something is called with.
type asked struct {
	Jobs       []string          `json:"jobs"`
	Name       string            `json:"name"`
	ID         int64             `json:"id"`
	Version    int               `json:"version"`
	From       string            `json:"from"`
	Parameters map[string]string `json:"parameters"`
	Priority   *int              `json:"priority"`
	Verb       string            `json:"verb"`
	Filter     json.RawMessage   `json:"filter"`
	Type       string            `json:"type"`
	Args       *string           `json:"args"`
	Key        *string           `json:"key"`
	Held       bool              `json:"held"`
	After      []string          `json:"after"`
	Confirm    string            `json:"confirm"`
}

// change is a tool that changes something.
type change struct {
	tool, says, line string
	fields           []field
	needs            int
	do               func(ctx context.Context, look view.Look, q asked) (verb.Out, error)
}

var (
	jobs     = field{name: "jobs", kind: words, says: "ids or keys of jobs, at most 200; for more: operation_plan"}
	name     = field{name: "name", kind: word, says: "its name"}
	id       = field{name: "id", kind: number, says: "its number"}
	priority = field{name: "priority", kind: number, says: "from -20, which runs first, to 19"}
	confirm  = field{name: "confirm", kind: word, says: "the token of the plan that a call without it has returned: do it"}
)

// changes are all tools that change something: submit, and the verbs.
func changes() []change {
	list := []change{{tool: "submit", says: "Submit a job", line: "bellhop submit TYPE ARGS", needs: 1, do: submit,
		fields: []field{
			{name: "type", kind: word, says: "type of the job"}, {name: "args", kind: word, says: "one line for the agent"},
			{name: "key", kind: word, says: "unique name: a second submission of the same content is the same job"}, priority,
			{name: "held", kind: yes, says: "wait until it is released"},
			{name: "after", kind: words, says: "ids or keys of jobs that it needs"}}}}
	for _, v := range verb.All {
		if v.NoTool != "" {
			continue
		}
		c := change{tool: v.Tool(), says: v.Summary, line: v.Line, needs: 1}
		if c.says == "" {
			c.says = v.Says + " " + v.To.Word + ": " + v.Done
		}
		switch {
		case v.To == verb.Job:
			c.fields = []field{jobs}
		case v.Name == "plan":
			c.fields, c.needs = []field{{name: "verb", kind: word, says: "cancel, kill, retry, release, hold or priority"},
				{name: "filter", kind: "object", says: "which jobs, as of POST /operations in docs/api.md"}, priority}, 2
		case v.Name == "pause" || v.Name == "resume":
			c.fields, c.needs = []field{{name: "name", kind: word, says: "the type; without it: all types"}}, 0
		case v.Name == "manager stop" || v.Name == "manager start":
			c.fields, c.needs = []field{{name: "name", kind: word, says: "the instance; without it: all of them"}}, 0
		case v.To == verb.Workflow || v.To == verb.Filter:
			c.fields = []field{name}
		default:
			c.fields = []field{id}
		}
		switch v.Name {
		case "priority":
			c.fields, c.needs = append(c.fields, priority), 2
		case "retry_from":
			c.fields, c.needs = append(c.fields, field{name: "from", kind: word, says: "the step of its work to begin with"}), 2
		case "revert":
			c.fields, c.needs = append(c.fields, field{name: "version", kind: number, says: "the version to go back to"}), 2
		case "run":
			c.fields = append(c.fields, field{name: "parameters", kind: "object", says: "values of its parameters, by name"},
				field{name: "from", kind: word, says: "the step to begin with"})
		}
		c.do = func(ctx context.Context, look view.Look, q asked) (verb.Out, error) { return done(ctx, look, v, q) }
		list = append(list, c)
	}
	return list
}

// done carries a verb out.
func done(ctx context.Context, look view.Look, v verb.Verb, q asked) (verb.Out, error) {
	in := verb.In{ID: q.ID, Name: q.Name, Back: q.Version, From: q.From, Order: q.Verb, Match: q.Filter}
	in.By.Parameters, in.Edit.Priority = q.Parameters, q.Priority
	if v.To == verb.Job {
		found, err := named(ctx, look, q.Jobs)
		if err != nil {
			return verb.Out{}, err
		}
		in.Jobs = found
	}
	return v.Do(ctx, look, in)
}

// named finds jobs by ids or keys, all of them.
func named(ctx context.Context, look view.Look, words []string) (ids []scheduler.JobID, err error) {
	if len(words) > jobsMost {
		return nil, cli.Usage("jobs", fmt.Sprintf("%d jobs are too many for one call", len(words)), "operation_plan")
	}
	found, missing, err := cli.FindJobs(ctx, look, words)
	if err = errors.Join(err, missing); err != nil {
		return nil, err
	}
	for _, j := range found {
		ids = append(ids, j.ID)
	}
	return ids, nil
}

func submit(ctx context.Context, look view.Look, q asked) (out verb.Out, err error) {
	s := view.Submission{Type: scheduler.TypeName(q.Type), Args: q.Args, Key: q.Key, Held: q.Held}
	if q.Priority != nil {
		s.Priority = *q.Priority
	}
	if s.After, err = named(ctx, look, q.After); err != nil {
		return out, err
	}
	id, err := look.Submit(ctx, s)
	out.ID = int64(id)
	return out, err
}

func (s *server) addChanges(m *mcp.Server) {
	for _, c := range changes() {
		closed := false
		m.AddTool(&mcp.Tool{Name: c.tool, InputSchema: schema(append(c.fields, confirm), 0),
			Description: c.says + ". Without confirm it changes nothing and returns a plan.",
			Annotations: &mcp.ToolAnnotations{OpenWorldHint: &closed}},
			func(ctx context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				answer, err := s.change(ctx, c, object(q.Params.Arguments))
				if err != nil {
					return refused(err), nil
				}
				text, err := json.MarshalIndent(answer, "", "  ")
				return answered(string(text)), err
			})
	}
}

// change makes a plan, or carries one out. The plan is what the verb itself does in a transaction that is taken back.
func (s *server) change(ctx context.Context, c change, text json.RawMessage) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	q, err := c.read(text)
	if err != nil {
		return answer{}, err
	}
	var plan plan
	if q.Confirm != "" {
		if plan, err = s.plans.take(c, q); err != nil {
			return answer{}, err
		}
		q = plan.asked
	}
	session, err := s.Open(ctx)
	if err != nil {
		return answer{}, err
	}
	defer session.Close()
	tx, err := session.Conn.Begin(ctx)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // what is lost with the connection is taken back, too
	if _, err := tx.Exec(ctx, "set local lock_timeout = '5s'", pgx.QueryExecModeSimpleProtocol); err != nil {
		return answer{}, err
	}
	out, err := c.do(ctx, view.NewLook(tx), q)
	if err != nil {
		return answer{}, err
	}
	a := c.answer(q, out, session.Conn.Config())
	if plan.token != "" && same(plan.out, out) {
		a.Done = true
		return a, tx.Commit(ctx)
	}
	if plan.token != "" {
		a.Note = "the plan was not carried out: what it would change is not what it was. This is a new plan"
	}
	a.Plan, a.Next = s.plans.keep(c, q, out), "show this to the user; then call "+c.tool+` with {"confirm": PLAN}`
	return a, nil
}

// same reports whether a verb did what its plan said. Numbers of what is made differ: the plan that was taken back
// used one.
func same(plan, now verb.Out) bool {
	plan.ID, now.ID, plan.Messages, now.Messages = 0, 0, nil, nil
	return reflect.DeepEqual(plan, now)
}
