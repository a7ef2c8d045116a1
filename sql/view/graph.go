package view

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
	doing := fmt.Sprintf("read the graph of job %d", id)
	if g.Nodes, err = collect[Node](ctx, l.db, doing, lookGraphSQL, id, limit); err != nil {
		return g, err
	}
	ids := make([]scheduler.JobID, len(g.Nodes))
	for i, n := range g.Nodes {
		ids[i] = n.ID
	}
	g.Edges, err = collect[Dependency](ctx, l.db, doing, lookDependenciesSQL, ids)
	return g, err
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
	return collect[Below](ctx, l.db, "look for the jobs that need them", lookBelowSQL, ids, most)
}
