// Package agentkit is `bellhop agent`: an agent tried and checked by itself, without a database.
package agentkit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"bellhop/agents"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
)

func Command(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "agent",
		Short:   "Write, try and check an agent; no database is needed",
		Example: "  bellhop agent new python\n  bellhop agent check ./agent.py\n  bellhop agent try ./agent.py hello",
	}
	a.Menu(c)
	c.AddCommand(agentNewCommand(a), agentTryCommand(a), agentCheckCommand(a))
	return c
}

// trialFlags are those of both commands. The agent's own flags follow its name.
func trialFlags(c *cobra.Command, o *trialOptions) {
	f := c.Flags()
	f.SetInterspersed(false)
	f.StringVar(&o.dialect, "dialect", string(agents.DialectAuto), "its dialect: auto, classic, json or fossology")
	f.StringVar(&o.mode, "mode", string(agents.ModeWarm), "warm, or exec: one process per line")
	f.StringVar(&o.typ, "type", "", "its type (default: the one that it names)")
	f.StringVar(&o.config, "config-dir", "", "`folder` that dialect fossology passes as --config")
	f.DurationVar(&o.patience, "timeout", 10*time.Second, "longest time of each answer")
}

func agentTryCommand(a *cli.App) *cobra.Command {
	var o trialOptions
	var vars map[string]string
	c := &cobra.Command{
		Use:   "try [flags] CMD [ARG…] LINE",
		Short: "Start an agent, send it one line, and show the whole dialogue",
		Long: `Starts an agent as serve would, sends it one line, and shows the whole dialogue, with
the speaker of each line. The last word is the line. Exit code 0: the line succeeded.`,
		Example: `  bellhop agent try agents/examples/upper.sh hello
  bellhop agent try --mode exec sh -c 'echo "$0"; exit 3' hello
  bellhop agent try --dialect fossology --var jobId=7 mods-enabled/nomos/agent/nomos 12`,
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("it takes a command and a line")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tryAgent(cmd.Context(), a, args[:len(args)-1], args[len(args)-1], vars, o)
		},
	}
	trialFlags(c, &o)
	c.Flags().StringToStringVar(&vars, "var", nil, "a variable of the job, `name=value`")
	return c
}

// tryAgent shows one line's way through an agent.
func tryAgent(
	_ context.Context, a *cli.App, command []string, line string, vars map[string]string, o trialOptions,
) error {
	t, err := newTrial(command, o)
	if err != nil {
		return err
	}
	began := time.Now()
	if !a.JSON() {
		t.heard = func(s spoken) {
			_ = a.Printf("%8.1f ms  %-8s %s\n", s.MS, s.From, cli.Clean(s.Line)) // a failed write cannot be reported
		}
	}
	note := func(format string, args ...any) {
		t.say(spoken{"note", fmt.Sprintf(format, args...), float64(time.Since(began).Microseconds()) / 1000})
	}
	l := argument(line)
	if l.Vars, err = asVars(vars); err != nil {
		return err
	}
	ok := t.walk(l, note)
	if a.JSON() {
		if err := a.PrintJSON(struct {
			OK     bool     `json:"ok"`
			Spoken []spoken `json:"spoken"`
		}{ok, t.spoken}); err != nil {
			return err
		}
	}
	if !ok {
		return cli.Silent(cli.ExitJobFailed)
	}
	return nil
}

// later is what is said of a line that the agent has put off; empty: it has not.
func later(a *scheduler.Answer) string {
	switch {
	case a != nil && a.Snooze > 0:
		return fmt.Sprintf("the line is put off for %s", a.Snooze)
	case a != nil && a.Rest != nil:
		return fmt.Sprintf("the run is over, and its job %s", a.Rest)
	}
	return ""
}

// walk starts the agent, gives it a line, and lets it go.
func (t *trial) walk(l scheduler.Line, note func(string, ...any)) (ok bool) {
	c, err := t.start()
	if err != nil {
		note("cannot be started: %s", err)
		return false
	}
	defer c.end()
	ev, came := c.next(t.patience)
	switch {
	case !came:
		note("no OK within %s; an agent says OK when it can take work (flushed: a pipe is not a terminal)", t.patience)
		return false
	case ev.Kind != scheduler.EventReady:
		note("%s before it was ready: %s", ev.Kind, ev.Told())
		return false
	case t.alone():
	default:
		note("ready")
	}
	ev, came = c.do(l)
	switch {
	case !came:
		note("no answer within %s", t.patience)
	case ev.Kind == scheduler.EventAnswered && ev.OK:
		note("the line succeeded")
		ok = true
	case ev.Kind == scheduler.EventAnswered && later(ev.Answer) != "":
		note("%s; that does not count as an attempt", later(ev.Answer))
		ok = true
	case ev.Kind == scheduler.EventAnswered:
		note("the line failed, exit code %d: %s", ev.ExitCode, ev.Told())
	default:
		note("the line failed, and the agent cannot go on: %s", ev.Told())
	}
	if a := ev.Answer; came && a != nil {
		if ev.OK && a.EndedAs != "" {
			note("there was nothing to do: %s", a.EndedAs.Words())
		}
		switch {
		case a.Result != nil:
			note("its result: %s", a.Result)
		case a.Never:
			note("it is not tried again")
		case a.After > 0:
			note("the next attempt, if there is one, comes in %s", a.After)
		}
	}
	if t.alone() || ev.Kind != scheduler.EventAnswered {
		return ok
	}
	c.CloseInput()
	note("its stdin is closed")
	if ev, came = c.next(t.patience); came && ev.Kind == scheduler.EventExited {
		note("it has gone: %s", ev.Told())
	} else {
		note("it still runs after %s, and is killed", t.patience)
	}
	return ok
}

// alone: each line has a process of its own.
func (t *trial) alone() bool {
	return t.spec.Mode == agents.ModeExec || t.spec.Dialect == agents.DialectFOSSology
}

// asVars writes variables as a job's row holds them.
func asVars(vars map[string]string) (scheduler.Vars, error) {
	if len(vars) == 0 {
		return "", nil
	}
	b, err := json.Marshal(vars)
	return scheduler.Vars(b), err
}
