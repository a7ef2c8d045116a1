package look

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

func GraphCommand(a *cli.App) *cobra.Command {
	var dot bool
	var limit int
	c := &cobra.Command{
		Use:   "graph ID",
		Short: "Print the jobs that a job needs, and the jobs that need it",
		Long: `Print the graph of a job, named by id or key. A job that needs another one is
indented below it. A job that needs several is printed below one of them; below
the others a line refers to it ("see above").

With --dot the graph is printed for Graphviz. An arrow leads from a job to each job
that needs it.`,
		Example: "  bellhop graph nightly\n  bellhop graph 42 --dot | dot -Tsvg > graph.svg",
		Args:    a.JobArgs(1, 1),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			id, err := cli.FindJob(ctx, s.Look, args[0])
			if err != nil {
				return err
			}
			g, err := s.Graph(ctx, id, limit)
			if err != nil {
				return err
			}
			if len(g.Nodes) == limit {
				a.Note("there may be more: these are %d jobs; see --limit", limit)
			}
			switch {
			case a.JSON():
				return a.PrintJSON(g)
			case dot:
				return a.Printf("%s", report.Dot(g))
			}
			return printGraph(a, newGraph(g))
		}),
	}
	c.Flags().BoolVar(&dot, "dot", false, "for Graphviz")
	c.Flags().IntVar(&limit, "limit", 10_000, "print at most so many jobs")
	return c
}

// graph is jobs, by id, and their dependencies.
type graph struct {
	view.Graph
	at     map[scheduler.JobID]int
	needs  map[scheduler.JobID][]view.Dependency // of a job: what it needs
	needed map[scheduler.JobID][]view.Dependency // of a job: the jobs that need it
}

func newGraph(of view.Graph) graph {
	g := graph{
		Graph:  of,
		at:     map[scheduler.JobID]int{},
		needs:  map[scheduler.JobID][]view.Dependency{},
		needed: map[scheduler.JobID][]view.Dependency{},
	}
	for i, n := range of.Nodes {
		g.at[n.ID] = i
	}
	for _, e := range of.Edges {
		g.needs[e.Job] = append(g.needs[e.Job], e)
		g.needed[e.Needs] = append(g.needed[e.Needs], e)
	}
	return g
}

// row is a line of the printed graph: a job at a depth.
type graphRow struct {
	node  view.Node
	depth int
	edge  *view.Dependency // by which it stands here; nil for a root
	again bool             // it has a line already
}

// rows walks the graph from those that need nothing. Not by calls that call
// each other: a chain may be long.
func (g graph) rows() []graphRow {
	var rows, stack []graphRow
	shown := map[scheduler.JobID]bool{}
	push := func(list []graphRow) { // the first comes off first
		slices.Reverse(list)
		stack = append(stack, list...)
	}
	walk := func() {
		for len(stack) > 0 {
			r := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			r.again = shown[r.node.ID]
			rows = append(rows, r)
			if shown[r.node.ID] {
				continue
			}
			shown[r.node.ID] = true
			var below []graphRow
			for _, e := range g.needed[r.node.ID] {
				below = append(below, graphRow{node: g.Nodes[g.at[e.Job]], depth: r.depth + 1, edge: &e})
			}
			push(below)
		}
	}
	var roots []graphRow
	for _, n := range g.Nodes {
		if len(g.needs[n.ID]) == 0 {
			roots = append(roots, graphRow{node: n})
		}
	}
	push(roots)
	walk()
	for _, n := range g.Nodes { // what is on a cycle, or below one that was left out
		if !shown[n.ID] {
			push([]graphRow{{node: n}})
			walk()
		}
	}
	return rows
}

// deepest is how far a line is indented at most.
const deepest = 30

func printGraph(a *cli.App, g graph) error {
	t := cli.Table{Header: []string{"STATE", "ID", "JOB"}}
	for _, r := range g.rows() {
		state := string(r.node.State)
		job := strings.Repeat("  ", min(r.depth, deepest)) + report.NodeName(r.node)
		if r.depth > deepest {
			job = fmt.Sprintf("%s (%d deep)", job, r.depth)
		}
		if r.edge != nil && !slices.Equal(r.edge.Wanted, []string{string(scheduler.Succeeded)}) {
			job += " (if " + strings.Join(r.edge.Wanted, " or ") + ")"
		}
		if r.again {
			state, job = "", job+"  ↑ see above"
		} else if why := nodeTrouble(r.node); why != "" {
			job += "  [" + why + "]"
		}
		t.Add(state, r.node.ID, job)
	}
	return a.PrintTable(t)
}

func nodeTrouble(n view.Node) string {
	switch {
	case n.Error != nil:
		return cli.Flat(*n.Error)
	case n.WaitingFor != nil && *n.WaitingFor != "dependencies":
		return *n.WaitingFor
	}
	return ""
}
