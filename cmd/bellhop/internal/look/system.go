package look

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// NoInstance is said when there is nothing to show because no instance runs.
const NoInstance = "no instance is running; bellhop serve starts one"

func HostsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "hosts",
		Short:   "List the hosts of running instances, and how full they are",
		Example: "  bellhop hosts",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			hosts, err := s.Hosts(ctx)
			return cli.PrintRows(a, hosts, err, NoInstance, "INSTANCE, NAME, STATE, SLOTS, CHILDREN, RUNNING, SERVES, TROUBLE",
				func(h view.HostRow) []any {
					return []any{h.Instance, h.Name, h.State, h.Slots, h.Children, h.Running, strings.Join(h.Serves, " "), h.Trouble}
				})
		}),
	}
}

// agentView is an agent with its children.
type agentView struct {
	view.AgentRow
	// Words are the last of agents that do not come up, by host, for operators.
	Words    map[string]string `json:"words,omitempty"`
	Children []view.ChildRow   `json:"children"`
}

func AgentsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "agents",
		Short:   "List the agents of running instances, and their children",
		Example: "  bellhop agents",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			agents, err := s.Agents(ctx)
			if err != nil {
				return err
			}
			children, err := s.Children(ctx)
			if err != nil {
				return err
			}
			words, err := s.AgentWords(ctx)
			if err != nil && !cli.IsDenied(err) {
				return err
			}
			views := make([]agentView, len(agents))
			for i, agent := range agents {
				views[i] = agentView{agent, words[view.AgentKey{Instance: agent.Instance, Type: agent.Type}], []view.ChildRow{}}
				for _, c := range children {
					if c.Instance == agent.Instance && c.Type == agent.Type {
						views[i].Children = append(views[i].Children, c)
					}
				}
			}
			if a.JSON() {
				return a.PrintJSON(views)
			}
			if err := printLive(a, agentTable(views)); err != nil || len(children) == 0 {
				return err
			}
			if err := a.Printf("\n"); err != nil {
				return err
			}
			return a.PrintTable(childTable(children))
		}),
	}
}

func agentTable(views []agentView) cli.Table {
	t := cli.Table{Header: []string{"INSTANCE", "TYPE", "MODE", "DIALECT", "MAX", "MAX_PER_HOST", "CHILDREN", "RUNNING", "COMMAND", "TROUBLE"}}
	for _, v := range views {
		live, running := 0, 0
		for _, c := range v.Children {
			if c.State != scheduler.Free.String() && c.State != scheduler.Fail.String() {
				live++
			}
			if c.State == scheduler.Busy.String() {
				running++
			}
		}
		t.Add(v.Instance, v.Type, v.Mode, v.Dialect, v.Max, v.MaxPerHost, live, running, v.Command,
			cli.Trouble(v.Trouble, v.Words))
	}
	return t
}

func childTable(children []view.ChildRow) cli.Table {
	t := cli.Table{Header: []string{"CHILD", "HOST", "STATE", "FOR", "PID", "JOB", "DONE", "DEATHS"}}
	for _, c := range children {
		t.Add(c.Name, c.Host, c.State, cli.Age(c.Age), c.PID, c.Job, c.Done, c.Deaths)
	}
	return t
}

func InstancesCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "instances",
		Short:   "List the running instances",
		Example: "  bellhop instances",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			instances, err := s.Instances(ctx)
			return cli.PrintRows(a, instances, err, NoInstance, "ID, NAME, HOSTNAME, PID, VERSION, UP, HEARTBEAT, JOBS",
				func(i view.InstanceRow) []any {
					return []any{i.ID, i.Name, i.Hostname, i.PID, i.Version, cli.Age(i.Age), cli.Age(i.Silent) + " ago", i.Jobs}
				})
		}),
	}
}

func StatsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Count jobs by type, and show how long they wait and run",
		Long: `Count jobs by type, and show how long they wait and run: the times that half, nine of
ten and 99 of 100 of them stay below, over the last 1000 finished jobs of each type. JSON
has every state, and times in seconds. WAITING has assigned jobs too. SUCCESSES counts the Success lines of agents,
LOST the runs that were lost with their host or instance, and given back. The command
reads the whole queue; bellhop history does not, and covers 32 days.`,
		Example: "  bellhop stats",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			stats, err := s.Stats(ctx)
			return cli.PrintRows(a, stats, err, "there is no job yet; bellhop submit adds one", statsHeader, statsRow)
		}),
	}
}

const statsHeader = "TYPE, WAITING, RUNNING, SUCCEEDED, FAILED, CANCELLED, ITEMS, ITEMS_FAILED, SUCCESSES, DEATHS, LOST, " +
	"WAIT_P50, WAIT_P90, WAIT_P99, RUN_P50, RUN_P90, RUN_P99"

func statsRow(r view.StatsRow) []any {
	row := []any{r.Type, r.Held + r.Blocked + r.Scheduled + r.Ready + r.Assigned, r.Running, r.Succeeded,
		r.Failed + r.Quarantined, r.Cancelled, r.ItemsDone, r.ItemsFailed, r.Successes, r.Deaths, r.Lost}
	for _, span := range r.Each() {
		row = append(row, cli.Span(span))
	}
	return row
}

// printLive prints a table of what running instances have.
func printLive(a *cli.App, t cli.Table) error {
	if len(t.Rows) == 0 {
		a.Note(NoInstance)
		return nil
	}
	return a.PrintTable(t)
}
