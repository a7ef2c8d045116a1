package api

import (
	"context"
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// Type is a kind of work: what does it, and how much of it there is.
type Type struct {
	Type     scheduler.TypeName `json:"type"`
	Paused   *view.PausedRow    `json:"paused"   doc:"Time and author of its pause"`
	Ready    int64              `json:"ready"    doc:"Jobs that wait for a slot, counted up to 10,000 an index"`
	Running  int64              `json:"running"`
	Why      string             `json:"why"      doc:"Why the first ready job waits; may be empty"`
	Assigned int64              `json:"assigned" doc:"Jobs that an instance has, and that wait for their child or for locks"`
	Agents   []view.AgentRow    `json:"agents"                                                                 nullable:"false"`
}

// TransformSchema says that paused is null of a type that is not.
func (Type) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	paused := s.Properties["paused"]
	s.Properties["paused"] = &huma.Schema{Description: paused.Description,
		OneOf: []*huma.Schema{{Ref: paused.Ref}, {Type: "null"}}}
	return s
}

// system are the routes that show what instances have.
func (a *API) system() {
	get := func(path, summary string) (op opOf) { return opOf{http.MethodGet, path, reader, "system", summary} }
	read(a, get("/types", "List types of jobs, with their agents and their waiting jobs").op(), types)
	read(a, get("/hosts", "List the hosts of running instances, and how full they are").op(),
		func(ctx context.Context, l view.Look, _ *struct{}) ([]view.HostRow, error) { return l.Hosts(ctx) })
	read(a, get("/children", "List the processes of agents").op(),
		func(ctx context.Context, l view.Look, _ *struct{}) ([]view.ChildRow, error) { return l.Children(ctx) })
	read(a, get("/instances", "List the running instances").op(),
		func(ctx context.Context, l view.Look, _ *struct{}) ([]view.InstanceRow, error) {
			return l.Instances(ctx)
		})
	type locks struct {
		First int `query:"first" minimum:"1" maximum:"1000" default:"20" doc:"At most so many of the jobs that wait behind each lock"`
	}
	read(a, get("/locks", "List the holders of locks, and the jobs that wait behind them").op(),
		func(ctx context.Context, l view.Look, in *locks) ([]view.LockRow, error) {
			return l.Locks(ctx, in.First)
		})
	type failures struct {
		Limit int `query:"limit" minimum:"1" maximum:"200" default:"50"`
	}
	read(a, get("/failures", "Group failed jobs by their error, numbers masked").op(),
		func(ctx context.Context, l view.Look, in *failures) ([]view.FailureRow, error) {
			return l.Failures(ctx, in.Limit)
		})
	read(a, get("/attachments", "List attached tables, and why their rows do not run").op(),
		func(ctx context.Context, l view.Look, _ *struct{}) ([]view.AttachmentRow, error) {
			return l.AttachmentsToShow(ctx)
		})
	read(a, get("/stats", "Count jobs by type, and show how long they wait and run, over the 50,000 newest").op(),
		func(ctx context.Context, l view.Look, p *TypePage) ([]view.StatsRow, error) {
			list, err := l.RecentStats(ctx)
			byType := func(x, y view.StatsRow) int { return strings.Compare(string(x.Type), string(y.Type)) }
			slices.SortFunc(list, byType) // the database's order is its locale's
			return partOf(p, list, func(r view.StatsRow) scheduler.TypeName { return r.Type }), err
		})
	read(a, get("/findings", "List findings: faults, with the commands that mend them").op(), findings)
}

// TypePage is a part of a list that has a row for each type, in their order.
type TypePage struct {
	After string `query:"after" maxLength:"1000" doc:"Begin behind this type: the last one of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
}

// partOf gives that part of a list in the order of its types.
func partOf[T any](p *TypePage, list []T, typ func(T) scheduler.TypeName) []T {
	from := 0
	if p.After != "" {
		from = sort.Search(len(list), func(i int) bool { return string(typ(list[i])) > p.After })
	}
	return list[from:min(len(list), from+p.Limit)]
}

func types(ctx context.Context, l view.Look, p *TypePage) ([]Type, error) {
	queue, err := l.Queue(ctx)
	if err != nil {
		return nil, err
	}
	paused, err := l.Paused(ctx)
	if err != nil {
		return nil, err
	}
	agents, err := l.Agents(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[scheduler.TypeName]*Type{}
	of := func(name scheduler.TypeName) *Type {
		if byName[name] == nil {
			byName[name] = &Type{Type: name, Agents: []view.AgentRow{}}
		}
		return byName[name]
	}
	for _, agent := range agents {
		t := of(agent.Type)
		t.Agents = append(t.Agents, agent)
	}
	for _, q := range queue {
		switch {
		case q.Type == "":
		case q.State == scheduler.Ready:
			t := of(q.Type)
			t.Ready, t.Why = q.Jobs, q.Why
		case q.State == scheduler.Assigned:
			of(q.Type).Assigned = q.Jobs
		case q.State == scheduler.Running:
			of(q.Type).Running = q.Jobs
		}
	}
	for i := range paused {
		if paused[i].Type != "" {
			of(scheduler.TypeName(paused[i].Type)).Paused = &paused[i]
		}
	}
	list := make([]Type, 0, len(byName))
	for _, t := range byName {
		if t.Paused == nil && len(paused) > 0 && paused[0].Type == "" {
			t.Paused = &paused[0] // everything is
		}
		list = append(list, *t)
	}
	slices.SortFunc(list, func(x, y Type) int { return strings.Compare(string(x.Type), string(y.Type)) })
	return partOf(p, list, func(t Type) scheduler.TypeName { return t.Type }), nil
}
