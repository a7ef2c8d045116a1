package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

// noInstance is said when there is nothing to show because nobody runs.
const noInstance = "no instance is running; bellhop serve starts one"

func hostsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "hosts",
		Short:   "List the hosts of running instances, and how full they are",
		Example: "  bellhop hosts",
		Args:    a.noArgs(),
		RunE: a.withDatabase(func(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
			hosts, err := s.Hosts(ctx)
			if err != nil || a.json() {
				return a.jsonOr(hosts, err)
			}
			t := table{header: []string{"INSTANCE", "NAME", "STATE", "SLOTS", "CHILDREN", "RUNNING", "SERVES", "TROUBLE"}}
			for _, h := range hosts {
				t.add(strconv.FormatInt(h.Instance, 10), h.Name, h.State, strconv.Itoa(h.Slots), strconv.Itoa(h.Children), strconv.Itoa(h.Running),
					strings.Join(h.Serves, " "), text(h.Trouble))
			}
			return a.printLive(t)
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

func agentsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "agents",
		Short:   "List the agents of running instances, and their children",
		Example: "  bellhop agents",
		Args:    a.noArgs(),
		RunE: a.withDatabase(func(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
			agents, err := s.Agents(ctx)
			if err != nil {
				return err
			}
			children, err := s.Children(ctx)
			if err != nil {
				return err
			}
			words, err := s.AgentWords(ctx)
			if err != nil && !isDenied(err) {
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
			if a.json() {
				return a.printJSON(views)
			}
			if err := a.printLive(agentTable(views)); err != nil || len(children) == 0 {
				return err
			}
			if err := a.printf("\n"); err != nil {
				return err
			}
			return a.printTable(childTable(children))
		}),
	}
}

func agentTable(views []agentView) table {
	t := table{header: []string{"INSTANCE", "TYPE", "MODE", "DIALECT", "MAX", "MAX_PER_HOST", "CHILDREN", "RUNNING", "COMMAND", "TROUBLE"}}
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
		t.add(strconv.FormatInt(v.Instance, 10), string(v.Type), v.Mode, v.Dialect, strconv.Itoa(v.Max), strconv.Itoa(v.MaxPerHost),
			strconv.Itoa(live), strconv.Itoa(running), v.Command, trouble(v.Trouble, v.Words))
	}
	return t
}

// trouble says, host by host, why no child comes up, and what the agent said
// last, where that is known.
func trouble(object json.RawMessage, words map[string]string) string {
	var byHost map[string]string
	if err := json.Unmarshal(object, &byHost); err != nil {
		return string(object) // not as we write it: shown as it is
	}
	var parts []string
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		parts = append(parts, host+": "+scheduler.Account{Reason: byHost[host], Words: words[host]}.Told())
	}
	return strings.Join(parts, "; ")
}

func childTable(children []store.ChildRow) table {
	t := table{header: []string{"CHILD", "HOST", "STATE", "FOR", "PID", "JOB", "DONE", "DEATHS"}}
	for _, c := range children {
		t.add(string(c.Name), c.Host, c.State, age(c.Age), number(c.PID), number(c.Job), strconv.FormatInt(c.Done, 10), strconv.FormatInt(c.Deaths, 10))
	}
	return t
}

func instancesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "instances",
		Short:   "List the running instances",
		Example: "  bellhop instances",
		Args:    a.noArgs(),
		RunE: a.withDatabase(func(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
			instances, err := s.Instances(ctx)
			if err != nil || a.json() {
				return a.jsonOr(instances, err)
			}
			t := table{header: []string{"ID", "NAME", "HOSTNAME", "PID", "VERSION", "UP", "HEARTBEAT", "JOBS"}}
			for _, i := range instances {
				t.add(strconv.FormatInt(i.ID, 10), i.Name, i.Hostname, strconv.Itoa(i.PID), i.Version, age(i.Age), age(i.Silent)+" ago",
					strconv.FormatInt(i.Jobs, 10))
			}
			return a.printLive(t)
		}),
	}
}

func statsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Count jobs by type, with how long they wait and run",
		Long: `Count jobs by type, with how long they wait and run: half of them, and nine of
ten, less than this, over the 1000 of each type that ended last. JSON has every
state and times in seconds. SUCCESSES counts the Success lines that agents said,
LOST the runs that were lost with their host or instance, and given back.
It reads the whole queue.`,
		Example: "  bellhop stats",
		Args:    a.noArgs(),
		RunE: a.withDatabase(func(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
			stats, err := s.Stats(ctx)
			if err != nil || a.json() {
				return a.jsonOr(stats, err)
			}
			t := table{header: []string{"TYPE", "WAITING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "ITEMS", "ITEMS_FAILED", "SUCCESSES", "DEATHS", "LOST",
				"WAIT_P50", "WAIT_P90", "RUN_P50", "RUN_P90"}}
			for _, r := range stats {
				row := []string{string(r.Type)}
				for _, n := range []int64{r.Held + r.Blocked + r.Scheduled + r.Ready, r.Assigned + r.Running, r.Succeeded,
					r.Failed + r.Quarantined, r.Cancelled, r.ItemsDone, r.ItemsFailed, r.Successes, r.Deaths, r.Lost} {
					row = append(row, strconv.FormatInt(n, 10))
				}
				t.add(append(row, span(r.WaitP50), span(r.WaitP90), span(r.RunP50), span(r.RunP90))...)
			}
			if len(t.rows) == 0 {
				a.note("there is no job yet; bellhop submit adds one")
				return nil
			}
			return a.printTable(t)
		}),
	}
}

// jsonOr prints a value, unless there is an error.
func (a *app) jsonOr(v any, err error) error {
	if err != nil {
		return err
	}
	return a.printJSON(v)
}

// printLive prints a table of what running instances have.
func (a *app) printLive(t table) error {
	if len(t.rows) == 0 {
		a.note(noInstance)
		return nil
	}
	return a.printTable(t)
}
