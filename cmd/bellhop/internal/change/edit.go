package change

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
	"bellhop/seal"
	"bellhop/sql/view"
	"bellhop/verb"
)

// waiting are the states in which a job can be changed.
var waiting = []scheduler.JobState{scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Ready}

// editFlags is what is to change: most of it as the queue takes it.
type editFlags struct {
	view.Edit
	priority      cli.Priority
	at, notAfter  string
	vars          []string
	hold, release bool
	keys          string
}

// EditCommand changes jobs that wait.
func EditCommand(a *cli.App) *cobra.Command {
	var f editFlags
	var e view.Edit
	var with view.Sealing
	s := sweep{verb: "edit", done: "changed", allowed: waiting, usual: waiting, preview: true}
	s.order = func() (string, verb.In) { return "priority", verb.In{Edit: e, Sealing: with} }
	c := &cobra.Command{
		Use:   "edit ID... | edit -s STATE -t TYPE",
		Short: "Change waiting jobs: priority, time, args, attempts, place, hold",
		Long: `Change waiting jobs (held, blocked, scheduled or ready), named by id or key, or
selected by -s and -t. Only the columns of the given flags change. A job that has
begun or ended does not change, and the exit code is 7. The type, key, locks and
dependencies of a job cannot be changed: cancel it, and submit another one.

A sealed job (bellhop submit --seal-with) gets no plain text in place of what is
sealed. The new args and vars are sealed with the key of the job, from the file of
--seal-with, or else of encryption.keys in bellhop.yaml.

With -s and -t a thousand jobs are changed at a time; Ctrl-C stops after those,
and their changes stay. --dry-run says how many jobs would change, and lists the
first of them; for IDs, it lists the change of each.`,
		Example: `  bellhop edit 42 --priority -5 --at now
  bellhop edit -s ready -t mail --hold --dry-run
  bellhop edit -t mail --at +1h --not-after +2h
  bellhop edit 42 --run-on ''
  bellhop edit 42 --args ben@example.org --seal-with app.keys`,
		Args: s.args(a),
	}
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if e, err = f.edit(cmd); err != nil { // mistakes are told before a database is looked for
			return err
		}
		if with, err = f.sealing(a, e); err != nil {
			return err
		}
		return unsealable(s.or(a, Change(a, Order{
			Do: s.order,
			words: func(c view.Change) string {
				if s.dryRun && c.Waits() {
					return "would be " + string(c.State)
				}
				return string(c.State)
			},
			trial: s.dryRun,
			refused: func(c view.Change) error {
				if c.Waits() {
					return nil
				}
				return cli.Failed(cli.ExitState, "edit", fmt.Sprintf("bellhop show %d", c.ID),
					"job %d is %s: only a waiting job can be changed", c.ID, c.State)
			}}))(cmd, args))
	}
	s.flags(c)
	f.flags(c)
	return c
}

func (f *editFlags) flags(c *cobra.Command) {
	flags := c.Flags()
	fields := cli.Fields{Flags: flags, Of: grammar.Edit}
	fields.Into(&f.Edit, "priority", "run_at", "not_after", "vars", "held")
	fields.Var(&f.priority, "priority")
	fields.Var(&f.at, "run_at")
	fields.Var(&f.notAfter, "not_after")
	fields.Var(&f.vars, "vars")
	fields.Var(&f.hold, "held")
	flags.BoolVar(&f.release, "release", false, "release it if it is held")
	flags.StringVar(&f.keys, "seal-with", "", "seal the new args and vars with the key of the job, or else the first, from this `file`")
}

// edit reads the flags.
func (f editFlags) edit(cmd *cobra.Command) (e view.Edit, err error) {
	bad := func(name, value, why string) error {
		return cli.Usage("edit", fmt.Sprintf("%s %q: %s", name, value, why), "bellhop edit --help")
	}
	e = f.Edit
	set, some := cmd.Flags().Changed, false
	for _, name := range append(grammar.Edit.Names(grammar.Command), "release") {
		some = some || set(name)
	}
	if !some {
		return e, cli.Usage("edit", "no change is given", "bellhop edit --help")
	}
	switch {
	case set("priority") && set("priority-name"):
		return e, bad("--priority-name", *e.PriorityName, "it replaces --priority: give one of them")
	case set("priority"):
		n := int(f.priority)
		e.Priority = &n
	}
	if set("at") {
		if err := editAt(f.at, &e); err != nil {
			return e, bad("--at", f.at, err.Error())
		}
	}
	if e.MaxAttempts != nil && *e.MaxAttempts < 1 {
		return e, bad("--max-attempts", strconv.Itoa(*e.MaxAttempts), "it is 1 or more")
	}
	if e.Timeout != nil && *e.Timeout < time.Millisecond {
		return e, bad("--timeout", e.Timeout.String(), "it must be longer than 0, such as 90s")
	}
	if set("not-after") {
		if err := editNotAfter(f.notAfter, &e); err != nil {
			return e, bad("--not-after", f.notAfter, err.Error())
		}
	}
	if e.OnFailure != nil && !slices.Contains(grammar.Edit.Field("on_failure").Choices, *e.OnFailure) {
		return e, bad("--on-failure", *e.OnFailure, "it is fail, block or run")
	}
	if set("var") {
		if e.Vars, err = readVars(f.vars); err != nil {
			return e, cli.Usage("edit", err.Error(), "bellhop edit --help")
		}
	}
	if f.hold && f.release {
		return e, cli.Usage("edit", "--hold and --release exclude each other", "bellhop edit --help")
	}
	if f.hold || f.release {
		e.Hold = &f.hold
	}
	return e, nil
}

// sealing is with which keys the new texts are sealed. Those of the configuration are for jobs that are sealed already.
func (f editFlags) sealing(a *cli.App, e view.Edit) (view.Sealing, error) {
	texts := e.Args != nil || e.Vars != nil
	switch {
	case f.keys != "" && !texts && e.MSQ == nil:
		return view.Sealing{}, cli.Usage("edit", fmt.Sprintf("--seal-with %q: there is nothing to seal: it goes with --args and --var", f.keys),
			"bellhop edit --help")
	case f.keys != "":
		keys, err := seal.Read(f.keys)
		if err != nil {
			return view.Sealing{}, cli.Usage("edit", fmt.Sprintf("--seal-with %q: %v", f.keys, err), "bellhop edit --help")
		}
		return view.Sealing{Keys: keys, All: true}, nil
	case !texts:
		return view.Sealing{}, nil
	}
	// Where there is no file that this account may read, the queue refuses plain text for a sealed job.
	if c, err := a.LoadConfig(); err == nil && c.Encryption.Keys != "" {
		if keys, err := seal.Read(c.Encryption.Keys); err == nil {
			return view.Sealing{Keys: keys}, nil
		}
	}
	return view.Sealing{}, nil
}

// unsealable says what to do where keys do not fit.
func unsealable(err error) error {
	var cannot *view.UnsealableError
	var lacks *seal.NoKey
	if !errors.As(err, &cannot) {
		return err
	}
	next := "bellhop edit --help"
	if errors.As(err, &lacks) {
		next = fmt.Sprintf("bellhop edit %d … --seal-with FILE   with a file that has key %s; or give an envelope: bellhop key seal %s --keys FILE",
			cannot.Job, lacks.ID, cannot.Type)
	}
	return cli.Usage("edit", cannot.Error(), next)
}

// editNotAfter reads when it expires; "never" among them.
func editNotAfter(at string, e *view.Edit) error {
	if at == "never" {
		e.NotAfter = &view.Never
		return nil
	}
	var when view.Edit
	if err := editAt(at, &when); err != nil {
		return err
	}
	e.NotAfter, e.NotAfterIn = when.RunAt, when.RunIn
	return nil
}

// readVars reads the words of --var; one that is empty is none.
func readVars(words []string) (map[string]string, error) {
	vars := map[string]string{}
	for _, v := range words {
		if v == "" && len(words) == 1 {
			continue
		}
		name, value, ok := strings.Cut(v, "=")
		if _, twice := vars[name]; !ok || name == "" || twice {
			return nil, fmt.Errorf("--var %q: want name=value, each name once", v)
		}
		vars[name] = value
	}
	return vars, nil
}

// editAt reads a time, "now" among them.
func editAt(at string, e *view.Edit) error {
	if at == "now" {
		at = "+0s"
	}
	if after, is := strings.CutPrefix(at, "+"); is {
		d, err := time.ParseDuration(after)
		if err != nil || d < 0 {
			return fmt.Errorf("want a time span such as +90s, +10m or +2h")
		}
		e.RunIn = &d
		return nil
	}
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return fmt.Errorf("want a time such as 2026-12-24T18:00:00Z, +10m, or now")
	}
	e.RunAt = &t
	return nil
}
