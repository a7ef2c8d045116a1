package look

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/store"
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
			if err != nil || a.JSON() {
				return jsonOr(a, hosts, err)
			}
			t := cli.Table{Header: []string{"INSTANCE", "NAME", "STATE", "SLOTS", "CHILDREN", "RUNNING", "SERVES", "TROUBLE"}}
			for _, h := range hosts {
				t.Add(strconv.FormatInt(h.Instance, 10), h.Name, h.State, strconv.Itoa(h.Slots), strconv.Itoa(h.Children),
					strconv.Itoa(h.Running), strings.Join(h.Serves, " "), cli.Text(h.Trouble))
			}
			return printLive(a, t)
		}),
	}
}

// agentView is an agent with its children.
type agentView struct {
	store.AgentRow
	// Words are the last of agents that do not come up, by host, for operators.
	Words    map[string]string `json:"words,omitempty"`
	Children []store.ChildRow  `json:"children"`
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
				views[i] = agentView{agent, words[store.AgentKey{Instance: agent.Instance, Type: agent.Type}], []store.ChildRow{}}
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
		t.Add(strconv.FormatInt(v.Instance, 10), string(v.Type), v.Mode, v.Dialect, strconv.Itoa(v.Max),
			strconv.Itoa(v.MaxPerHost), strconv.Itoa(live), strconv.Itoa(running), v.Command, cli.Trouble(v.Trouble, v.Words))
	}
	return t
}

func childTable(children []store.ChildRow) cli.Table {
	t := cli.Table{Header: []string{"CHILD", "HOST", "STATE", "FOR", "PID", "JOB", "DONE", "DEATHS"}}
	for _, c := range children {
		t.Add(string(c.Name), c.Host, c.State, cli.Age(c.Age), cli.Number(c.PID), cli.Number(c.Job),
			strconv.FormatInt(c.Done, 10), strconv.FormatInt(c.Deaths, 10))
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
			if err != nil || a.JSON() {
				return jsonOr(a, instances, err)
			}
			t := cli.Table{Header: []string{"ID", "NAME", "HOSTNAME", "PID", "VERSION", "UP", "HEARTBEAT", "JOBS"}}
			for _, i := range instances {
				t.Add(strconv.FormatInt(i.ID, 10), i.Name, i.Hostname, strconv.Itoa(i.PID), i.Version, cli.Age(i.Age),
					cli.Age(i.Silent)+" ago", strconv.FormatInt(i.Jobs, 10))
			}
			return printLive(a, t)
		}),
	}
}

func StatsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Count jobs by type, and show how long they wait and run",
		Long: `Count jobs by type, and show how long they wait and run: the times that half, nine of
ten and 99 of 100 of them stay below, over the last 1000 finished jobs of each type. JSON
has every state, and times in seconds. SUCCESSES counts the Success lines of agents,
LOST the runs that were lost with their host or instance, and given back. The command
reads the whole queue; bellhop history does not, and covers 32 days.`,
		Example: "  bellhop stats",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			stats, err := s.Stats(ctx)
			if err != nil || a.JSON() {
				return jsonOr(a, stats, err)
			}
			t := cli.Table{Header: []string{"TYPE", "WAITING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "ITEMS", "ITEMS_FAILED", "SUCCESSES", "DEATHS", "LOST",
				"WAIT_P50", "WAIT_P90", "WAIT_P99", "RUN_P50", "RUN_P90", "RUN_P99"}}
			for _, r := range stats {
				row := []string{string(r.Type)}
				for _, n := range []int64{r.Held + r.Blocked + r.Scheduled + r.Ready, r.Assigned + r.Running, r.Succeeded,
					r.Failed + r.Quarantined, r.Cancelled, r.ItemsDone, r.ItemsFailed, r.Successes, r.Deaths, r.Lost} {
					row = append(row, strconv.FormatInt(n, 10))
				}
				for _, span := range r.Each() {
					row = append(row, cli.Span(span))
				}
				t.Add(row...)
			}
			if len(t.Rows) == 0 {
				a.Note("there is no job yet; bellhop submit adds one")
				return nil
			}
			return a.PrintTable(t)
		}),
	}
}

// jsonOr prints a value, unless there is an error.
func jsonOr(a *cli.App, v any, err error) error {
	if err != nil {
		return err
	}
	return a.PrintJSON(v)
}

// printLive prints a table of what running instances have.
func printLive(a *cli.App, t cli.Table) error {
	if len(t.Rows) == 0 {
		a.Note(NoInstance)
		return nil
	}
	return a.PrintTable(t)
}
