package store

import (
	"context"
	"fmt"

	"bellhop/scheduler"
	"bellhop/sql"
)

var lookGraphSQL, lookDependenciesSQL = sql.Query("look_graph"), sql.Query("look_dependencies")

// Node is a job of a graph.
type Node struct {
	ID         scheduler.JobID    `json:"id"`
	Key        *string            `json:"key"`
	Type       scheduler.TypeName `json:"type"`
	State      scheduler.JobState `json:"state"`
	ExitCode   *int               `json:"exit_code"`
	Error      *string            `json:"error"`
	WaitingFor *string            `json:"waiting_for"`
}

// Dependency is a job's need of another one.
type Dependency struct {
	Job    scheduler.JobID `json:"job"`
	Needs  scheduler.JobID `json:"needs"`
	Wanted []string        `json:"wanted"` // the states that count as an end
	Met    bool            `json:"met"`
}

// Graph is what a job needs and what needs it, also by way of others.
type Graph struct {
	Nodes []Node       `json:"jobs"         nullable:"false"`
	Edges []Dependency `json:"dependencies" nullable:"false"`
}

// Graph gives the jobs that are connected with one by dependencies, at most
// limit, in the order of their ids, and the dependencies among them.
func (l Look) Graph(ctx context.Context, id scheduler.JobID, limit int) (g Graph, err error) {
	if g.Nodes, err = collect[Node](ctx, l.db, lookGraphSQL, id, limit); err != nil {
		return g, fmt.Errorf("read the graph of job %d: %w", id, err)
	}
	ids := make([]scheduler.JobID, len(g.Nodes))
	for i, n := range g.Nodes {
		ids[i] = n.ID
	}
	if g.Edges, err = collect[Dependency](ctx, l.db, lookDependenciesSQL, ids); err != nil {
		return g, fmt.Errorf("read the dependencies of job %d: %w", id, err)
	}
	return g, nil
}

var lookBelowSQL = sql.Query("look_below")

// Below is a job that needs one that is to be cancelled, by way of others too.
type Below struct {
	ID      scheduler.JobID    `json:"id"`
	Key     *string            `json:"key"`
	Type    scheduler.TypeName `json:"type"`
	State   scheduler.JobState `json:"state"`
	Becomes string             `json:"becomes"` // failed, blocked, held, or run: it may run all the same
	Among   int64              `json:"-"`       // how many there are
}

// Below tells what becomes of the jobs that need these, if these are cancelled: some of them.
func (l Look) Below(ctx context.Context, ids []scheduler.JobID, most int) ([]Below, error) {
	list, err := collect[Below](ctx, l.db, lookBelowSQL, ids, most)
	if err != nil {
		return nil, fmt.Errorf("look for the jobs that need them: %w", err)
	}
	return list, nil
}
