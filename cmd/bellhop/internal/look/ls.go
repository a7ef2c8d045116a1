// Package look has the commands that show jobs, and what instances are doing; none of them changes anything.
package look

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// unfinished is what `ls` lists when no state is named: what is not finished,
// and what failed.
var unfinished = []scheduler.JobState{
	scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Ready, scheduler.Assigned, scheduler.Running,
	scheduler.Failed, scheduler.Quarantined,
}

// whatWidth is how much of a job's text a table shows.
const whatWidth = 200

func LsCommand(a *cli.App) *cobra.Command {
	var states, types []string
	var limit int
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List jobs: unfinished and failed ones, or those in other states",
		Long:    "List jobs: unfinished and failed ones, or those in the states named with -s.\nThe newest are listed, in the order of their ids.",
		Example: "  bellhop ls\n  bellhop ls -s running -s ready -t license\n  bellhop ls -s failed -o json | jq '.[].error'",
		Args:    a.NoArgs(),
		RunE: func(cmd *cobra.Command, args []string) error {
			f := view.Filter{States: unfinished}
			if cmd.Flags().Changed("state") {
				var err error
				if f.States, err = cli.ParseStates(states); err != nil {
					return err
				}
			}
			if limit < 0 {
				return cli.Usage("ls", fmt.Sprintf("--limit %d is below 0", limit), "bellhop ls --limit 0   lists all")
			}
			for _, t := range types {
				f.Types = append(f.Types, scheduler.TypeName(t))
			}
			if f.Limit = limit; limit > 0 {
				f.Limit++ // one more, to know whether there are more
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				return ls(ctx, a, s, f, limit)
			})(cmd, args)
		},
	}
	c.Flags().StringSliceVarP(&states, "state", "s", nil, "only jobs in this `state`; repeatable")
	c.Flags().StringSliceVarP(&types, "type", "t", nil, "only jobs of this `type`; repeatable")
	c.Flags().IntVar(&limit, "limit", 1000, "list at most so many, the newest; 0: all")
	return c
}

// nothing says what was looked for, where no job was found.
func nothing(f view.Filter) string {
	of, flags := "", ""
	if len(f.Types) > 0 {
		var types []string
		for _, t := range f.Types {
			types = append(types, cli.Clean(string(t)))
			flags += " -t " + cli.ShellWord(string(t))
		}
		of = " of type " + strings.Join(types, " or ")
	}
	if !slices.Equal(f.States, unfinished) {
		var states []string
		for _, s := range f.States {
			states = append(states, string(s))
		}
		return "no job" + of + " is " + strings.Join(states, " or ")
	}
	if of == "" {
		return "no job is unfinished or failed; bellhop ls -s succeeded lists finished jobs"
	}
	return "no job" + of + " is unfinished or failed; bellhop ls -s succeeded" + flags + " lists finished jobs, bellhop agents the types of running agents"
}

// listedJob is a job with its payload, where the account may see that.
type listedJob struct {
	view.JobRow
	Args *string `json:"args"`
	MSQ  *string `json:"msq"`
}

func ls(ctx context.Context, a *cli.App, s *cli.Session, f view.Filter, limit int) error {
	rows, err := s.Jobs(ctx, f)
	if err != nil {
		return err
	}
	if limit > 0 && len(rows) > limit {
		rows = rows[1:] // the oldest is the one too many
		a.Note("there are more: these are the newest %d; bellhop ls --limit 0 lists all", limit)
	}
	ids := make([]scheduler.JobID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	width := whatWidth
	if a.JSON() {
		width = 0
	}
	payloads, err := s.Payloads(ctx, ids, width)
	if err != nil && !cli.IsDenied(err) { // readers see no payloads
		return err
	}
	jobs := make([]listedJob, len(rows))
	for i, r := range rows {
		p := payloads[r.ID].Shown()
		jobs[i] = listedJob{r, p.Args, p.MSQ}
	}
	if a.JSON() {
		return a.PrintJSON(jobs)
	}
	if len(jobs) == 0 {
		a.Note("%s", nothing(f))
		return nil
	}
	t := cli.Table{Header: []string{"ID", "STATE", "TYPE", "PRIORITY", "KEY", "HOST", "AGE", "WHAT"}}
	for _, j := range jobs {
		t.Add(j.ID, j.State, j.Type, priority(j.JobRow), j.Key, host(j.JobRow), cli.Lasting(j.Age), what(j))
	}
	return a.PrintTable(t)
}

func priority(j view.JobRow) string {
	if j.PriorityName != nil {
		return fmt.Sprintf("%d (%s)", j.Priority, *j.PriorityName)
	}
	return strconv.Itoa(j.Priority)
}

// host is where the job runs or ran, else where it wants to.
func host(j view.JobRow) string {
	if j.Host != nil {
		return *j.Host
	}
	if j.RunOn != nil {
		return "(" + *j.RunOn + ")"
	}
	return ""
}

// progress is how far a query's items are, or a job that runs says it is; empty where nothing is known.
func progress(j view.JobRow) string {
	if !j.IsMSQ && (j.State == scheduler.Running || j.State == scheduler.Assigned) {
		return howFar(j)
	}
	if !j.IsMSQ || j.ItemsDone == nil {
		return ""
	}
	failed := ""
	if j.ItemsFailed != nil && *j.ItemsFailed > 0 {
		failed = fmt.Sprintf(", %d failed", *j.ItemsFailed)
	}
	switch {
	case j.ItemsTotal != nil:
		return fmt.Sprintf("%d/%d items%s", *j.ItemsDone, *j.ItemsTotal, failed)
	case *j.ItemsDone > 0 || failed != "":
		return cli.Counted(*j.ItemsDone, "item") + " done" + failed
	}
	return ""
}

// what is the job's text, with what holds or ended it in front.
func what(j listedJob) string {
	var parts []string
	if j.WaitingFor != nil {
		parts = append(parts, "["+*j.WaitingFor+"]")
	}
	if words := progress(j.JobRow); words != "" {
		parts = append(parts, "["+words+"]")
	}
	switch {
	case j.MSQ != nil:
		parts = append(parts, strings.Join(strings.Fields(*j.MSQ), " "))
	case j.Args != nil:
		parts = append(parts, *j.Args)
	case j.IsMSQ:
		parts = append(parts, "a query")
	}
	return strings.Join(parts, " ")
}
