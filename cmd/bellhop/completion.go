package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
)

// completionPatience is how long a press of TAB waits; tests wait longer.
var completionPatience = time.Second

// completer gives words that may stand where the cursor is.
type completer = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// states are all that a job can be in.
var states = []scheduler.JobState{scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Ready,
	scheduler.Assigned, scheduler.Running, scheduler.Succeeded, scheduler.Failed, scheduler.Cancelled,
	scheduler.Quarantined}

func completeStates(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, s := range states {
		words = append(words, string(s))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// complete asks the database, if it answers soon. A press of TAB shows no error: without an answer there are no
// words.
func complete(a *cli.App, ask func(context.Context, view.Look) ([]string, error)) completer {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completionPatience)
		defer cancel()
		s, err := a.Open(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.Close()
		words, _ := ask(ctx, s.Look)
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

func typesOf(ctx context.Context, look view.Look) (words []string, err error) {
	agents, err := look.Agents(ctx)
	for _, a := range agents {
		words = append(words, string(a.Type)+"\t"+a.Mode)
	}
	return words, err
}

func hostsOf(ctx context.Context, look view.Look) (words []string, err error) {
	hosts, err := look.Hosts(ctx)
	for _, h := range hosts {
		words = append(words, h.Name+"\t"+h.State)
		words = append(words, h.Serves...)
	}
	return words, err
}

// jobsOf gives the newest jobs in one of the states, and their keys.
func jobsOf(in ...scheduler.JobState) func(context.Context, view.Look) ([]string, error) {
	return func(ctx context.Context, look view.Look) (words []string, err error) {
		jobs, err := look.Jobs(ctx, view.Filter{States: in, Limit: 50})
		for _, j := range jobs {
			words = append(words, strconv.FormatInt(int64(j.ID), 10)+"\t"+string(j.Type)+", "+string(j.State))
			if j.Key != nil && !cli.IsID(*j.Key) {
				words = append(words, *j.Key+"\t"+string(j.Type)+", "+string(j.State))
			}
		}
		return words, err
	}
}

// argumentsOf gives commands the words that may stand behind them.
func argumentsOf(a *cli.App) map[string]completer {
	waiting := []scheduler.JobState{scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Ready,
		scheduler.Assigned, scheduler.Running}
	over := []scheduler.JobState{scheduler.Succeeded, scheduler.Failed, scheduler.Cancelled, scheduler.Quarantined}
	words := map[string]completer{}
	of := func(c completer, commands ...string) {
		for _, name := range commands {
			words[name] = c
		}
	}
	of(complete(a, typesOf), "submit", "pause", "resume")
	of(complete(a, jobsOf(scheduler.Held)), "release", "rjmgo")
	of(complete(a, jobsOf(waiting...)), "cancel", "wait")
	of(complete(a, jobsOf(states...)), "explain", "show", "logs", "graph", "trace", "exit-code", "batch count",
		"rjmexit", "rjmout")
	of(complete(a, jobsOf(over[1:]...)), "retry")
	of(complete(a, attachmentsOf), "detach")
	of(folders, "demo")
	of(complete(a, jobsOf(waiting[:4]...)), "edit")
	of(complete(a, instancesOf), "reload", "manager stop")
	of(fixed("cancel", "kill", "retry", "release", "hold", "priority"), "operation plan")
	of(complete(a, operationsOf()), "operation show")
	of(complete(a, operationsOf("planned", "stopped")), "operation start")
	of(complete(a, operationsOf("planned", "running")), "operation stop")
	of(complete(a, operationsOf("done", "stopped")), "operation undo")
	of(complete(a, filtersOf), "filter info", "filter replace", "filter delete")
	of(complete(a, workflowsOf), "workflow ls", "workflow runs", "workflow show", "workflow run",
		"workflow explain", "workflow history", "workflow diff", "workflow revert", "workflow export",
		"workflow activate", "workflow deactivate", "workflow delete", "workflow notify messages")
	of(complete(a, failedRunsOf), "workflow retry")
	of(complete(a, rulesOf), "workflow notify edit", "workflow notify test", "workflow notify delete")
	of(complete(a, unsentOf), "workflow notify again")
	of(cobra.FixedCompletions([]string{"jsonl", "json"}, cobra.ShellCompDirectiveFilterFileExt), "simulate")
	return words
}

// completions gives commands their words. The names of flags are cobra's affair.
func completions(a *cli.App, root *cobra.Command) {
	words := argumentsOf(a)
	ends := fixed("succeeded", "failed", "cancelled", "quarantined")
	flags := map[string]completer{
		"state":      completeStates,
		"type":       complete(a, typesOf),
		"run-on":     complete(a, hostsOf),
		"after":      complete(a, jobsOf(states...)),
		"output":     fixed("table", "json"),
		"on-failure": fixed("fail", "block", "run"),
		"repeat":     fixed("once", "until_empty"),
		"wanted":     ends,
		"compat":     fixed("fossology"),
		"mode":       fixed("warm", "exec"),
		"dialect":    fixed("auto", "classic", "json", "fossology"),
		"order":      fixed("predictive", "fifo", "greedy", "blind", "ganeti"),
		"workload":   fixed("ganeti"),
		"sensor":     fixed(append([]string{view.NoSensor}, workflow.Kinds...)...),
	}
	own := map[string]completer{"prune state": ends, "rjmls state": fixed(rjmStates...),
		"runs state": fixed(append([]string{"queued", "running"}, workflow.RunStates...)...)}
	var give func(c *cobra.Command)
	give = func(c *cobra.Command) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		switch f := words[path]; {
		case f != nil:
			c.ValidArgsFunction = f
		case c.ValidArgsFunction == nil && c.Runnable() && !c.HasSubCommands() && c.Parent() == root:
			c.ValidArgsFunction = none // what is in this folder is no argument of it
		}
		for name, f := range flags {
			if other := own[c.Name()+" "+name]; other != nil {
				f = other
			}
			if c.Flags().Lookup(name) != nil || c == root && root.PersistentFlags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, f) // it fails for a second one, and there is none
			}
		}
		for _, under := range c.Commands() {
			give(under)
		}
	}
	give(root)
}

// fixed completes some words.
func fixed(words ...string) completer {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// none completes nothing: no file of this folder is meant.
func none(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// folders completes folders.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// attachmentsOf gives what tables are attached.
func attachmentsOf(ctx context.Context, look view.Look) (words []string, err error) {
	list, err := look.Attachments(ctx)
	for _, x := range list {
		words = append(words, x.Name+"\t"+x.Table)
	}
	return words, err
}

// instancesOf gives the names of the instances that run.
func instancesOf(ctx context.Context, look view.Look) (words []string, err error) {
	list, err := look.Instances(ctx)
	for _, x := range list {
		words = append(words, x.Name+"\t"+x.Hostname)
	}
	return words, err
}

// filtersOf gives the filters, and what they do.
func filtersOf(ctx context.Context, look view.Look) (words []string, err error) {
	list, err := look.Filters(ctx, nil)
	for _, x := range list {
		words = append(words, x.ID+"\t"+x.Action)
	}
	return words, err
}

// workflowsOf gives the names of workflows, and what starts them.
func workflowsOf(ctx context.Context, look view.Look) (words []string, err error) {
	list, err := look.Workflows(ctx, view.WorkflowFilter{})
	for _, x := range list {
		starts := "by hand"
		if x.Sensor != nil {
			starts = *x.Sensor
		}
		words = append(words, x.Name+"\t"+starts)
	}
	return words, err
}

// failedRunsOf gives the newest runs that failed.
func failedRunsOf(ctx context.Context, look view.Look) (words []string, err error) {
	list, err := look.Runs(ctx, nil, nil, 50)
	for _, x := range list {
		if x.State == "failed" {
			words = append(words, strconv.FormatInt(x.ID, 10)+"\t"+x.Workflow)
		}
	}
	return words, err
}

// operationsOf gives the newest orders for many jobs in one of the states; none: in any.
func operationsOf(in ...string) func(context.Context, view.Look) ([]string, error) {
	return func(ctx context.Context, look view.Look) (words []string, err error) {
		list, err := look.Operations(ctx, nil, 50)
		for _, o := range list {
			if len(in) == 0 || slices.Contains(in, o.State) {
				words = append(words, strconv.FormatInt(o.ID, 10)+"\t"+o.Verb+", "+o.State)
			}
		}
		return words, err
	}
}

// rulesOf gives the notification rules of runs.
func rulesOf(ctx context.Context, look view.Look) (words []string, err error) {
	list, err := look.NoticeRules(ctx)
	for _, x := range list {
		words = append(words, strconv.FormatInt(x.ID, 10)+"\t"+strings.Join(x.Mail, " "))
	}
	return words, err
}

// unsentOf gives the newest messages that were not sent.
func unsentOf(ctx context.Context, look view.Look) (words []string, err error) {
	list, err := look.Notices(ctx, []string{"waiting", "given_up"}, nil, nil, 50)
	for _, x := range list {
		words = append(words, strconv.FormatInt(x.ID, 10)+"\t"+x.Workflow+", "+x.Status)
	}
	return words, err
}
