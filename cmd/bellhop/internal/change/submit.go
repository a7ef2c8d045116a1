package change

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql/store"
)

// submitFlags is what the command line says about a job.
type submitFlags struct {
	msq, repeat, key, runOn, at         string
	priority                            cli.Priority
	priorityName                        string
	onFailure                           string
	locks, reasons, vars, after, wanted []string
	hold, wait, replace, quiet          bool
	once, notAfter, batch               string
	per                                 time.Duration
	maxAttempts                         int32
	timeout                             time.Duration
}

func SubmitCommand(a *cli.App) *cobra.Command {
	var f submitFlags
	c := &cobra.Command{
		Use:   "submit TYPE [ARGS]",
		Short: "Add a job; prints its id",
		Long: `Add a job; prints its id.

ARGS is the one line that the agent of TYPE is given. With --msq the job's work
is the rows of a query instead, one line each. A type that no running instance
serves, a host that none has and a variable that no agent takes are accepted,
with a warning.

With --after it waits until other jobs have ended, and succeeded unless --wanted
says otherwise. --on-failure says what becomes of it when they end in another
way: it fails, stays blocked (until they are retried and succeed), or runs.

With --key, submitting the same again gives the id of the first; submitting
something else under the same key is refused (exit code 7). A key is taken until
its job is pruned, however that ended; with --once open until its job is over,
with --per 24h for a day; with --replace what waits under it gets the new ARGS.`,
		Example: `  bellhop submit license /srv/a.c
  bellhop submit license --msq "select path from files where license is null" --key scan.2026-11-22 --wait
  bellhop submit report --key nightly --per 24h
  bellhop submit index /srv --key index --replace --at +5s
  bellhop submit notify bob --after scan.2026-11-22 --after 42 --on-failure run
  bellhop submit report --at +10m --priority -5 --var YEAR=2026`,
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return errors.New("it needs the type of the job")
			case 1, 2:
				return nil
			}
			return fmt.Errorf("it takes one TYPE and one ARGS, got %d words: put quotes around ARGS", len(args))
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Mistakes are told before a database is looked for.
			s, err := f.submission(cmd, args)
			if err != nil {
				return err
			}
			return a.WithDatabase(func(ctx context.Context, db *cli.Session, _ *cobra.Command, _ []string) error {
				if f.batch != "" {
					id, err := cli.FindJob(ctx, db.Look, f.batch)
					if err != nil {
						return err
					}
					s.Batch = &id
				}
				if !f.quiet {
					// The job is submitted whatever comes of this: a submitter may not be let to see the agents.
					if err := warnSubmission(ctx, a, db, s); err != nil && !cli.IsDenied(err) {
						return err
					}
				}
				return submit(ctx, a, db, s, f.wait)
			})(cmd, args)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.msq, "msq", "", "a `query` whose rows are the items of the job, instead of ARGS")
	flags.StringVar(&f.repeat, "repeat", "", "how `often` the query runs: once or until_empty (default: until_empty when it has a LIMIT)")
	flags.StringVar(&f.key, "key", "", "a `name` for the job that no other has, finished ones included: nightly runs once, nightly.2026-11-22 is one night's")
	flags.StringVar(&f.notAfter, "not-after", "", "cancel it if it has not begun by this `time`: 2026-12-24T18:00:00Z, or +10m from now")
	flags.StringVar(&f.once, "once", "", "for how long the `key` is taken: ever (default), open (while its job is not over), waiting (while that has not begun)")
	flags.DurationVar(&f.per, "per", 0, "one job of the key in each `period`, such as 24h: days begin at midnight UTC")
	flags.BoolVar(&f.replace, "replace", false, "a job that waits under the key gets these ARGS, priority and time, in place of another job")
	flags.Var(&f.priority, "priority", cli.PriorityUsage+" (default normal)")
	flags.StringVar(&f.priorityName, "priority-name", "", "a priority as RJM writes it, in place of --priority: a `name` whose first letter counts, a is -13, n is 0, z is 12")
	flags.StringArrayVar(&f.after, "after", nil, "the id or key of a `job` that it needs; repeatable")
	flags.StringSliceVar(&f.wanted, "wanted", nil, "how those of --after have to `end`: succeeded, failed, cancelled, quarantined; repeatable (default succeeded)")
	flags.StringVar(&f.onFailure, "on-failure", "", "what `becomes` of it when one that it needs ends otherwise: fail, block or run (default fail)")
	flags.StringVar(&f.runOn, "run-on", "", "the `host`, or what a host serves, that it must run on")
	flags.StringArrayVar(&f.locks, "lock", nil, "a `lock` it needs: level:name=exclusive, level:*=shared, big; repeatable")
	flags.StringArrayVar(&f.reasons, "reason", nil, "a `tag` that filters know it by: import:2026-11, or rate-limit:2:mail (two of this tag at once); repeatable")
	flags.StringVar(&f.batch, "batch", "", "the id or key of the `batch` that it is of: bellhop batch --help")
	flags.StringVar(&f.at, "at", "", "not before this `time`: 2026-12-24T18:00:00Z, or +10m from now")
	flags.BoolVar(&f.hold, "hold", false, "hold it until it is released: bellhop release")
	flags.StringArrayVar(&f.vars, "var", nil, "a variable for the agent, `name=value`; repeatable")
	flags.Int32Var(&f.maxAttempts, "max-attempts", 0, "how `often` it is tried, in all (default: as its type says; else once)")
	flags.DurationVar(&f.timeout, "timeout", 0, "how `long` one attempt may take, such as 90s or 2h (default: the type's own)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "do not warn where no running instance has an agent of TYPE")
	flags.BoolVar(&f.wait, "wait", false, "wait for its end, and print what it gave back; 1 when it did not succeed")
	return c
}

// submission checks the flags and makes a job of them.
func (f submitFlags) submission(cmd *cobra.Command, args []string) (store.Submission, error) {
	set := cmd.Flags().Changed
	given := func(name string, v *string) *string {
		if set(name) {
			return v
		}
		return nil
	}
	s := store.Submission{
		Type: scheduler.TypeName(args[0]), MSQ: given("msq", &f.msq), Repeat: given("repeat", &f.repeat),
		RunOn: given("run-on",
			&f.runOn), OnFailure: given("on-failure", &f.onFailure), Wanted: f.wanted, Key: given("key", &f.key), Held: f.hold,
		Locks: f.locks, Reasons: f.reasons, MaxAttempts: f.maxAttempts, Once: given("once", &f.once), Replace: f.replace,
	}
	if len(args) == 2 {
		s.Args = &args[1]
	}
	// The queue would refuse it too, or let it wait, and not say at which character.
	if _, err := lock.ParseAll(f.locks, nil); err != nil {
		return s, cli.Usage("submit", "--lock: "+cli.Flat(err.Error()), "bellhop submit TYPE --lock customer:42=exclusive")
	}
	// As agents have it, and whatever else runs a command under a span: what is no
	// traceparent there is none of ours.
	if parent := os.Getenv("TRACEPARENT"); parent != "" {
		if _, ok := scheduler.ParseTrace(parent); ok {
			s.Traceparent = &parent
		}
	}
	for _, word := range f.after {
		if id, err := strconv.ParseInt(word, 10, 64); err == nil && cli.IsID(word) {
			s.After = append(s.After, scheduler.JobID(id))
		} else {
			s.AfterKeys = append(s.AfterKeys, word)
		}
	}
	for _, end := range f.wanted {
		if !scheduler.JobState(end).Final() {
			return s, badFlag("--wanted", end, "jobs end as succeeded, failed, cancelled or quarantined")
		}
	}
	if f.wanted != nil && f.after == nil {
		return s, badFlag("--wanted", strings.Join(f.wanted, ","), "it is about the jobs of --after, and there are none")
	}
	if set("max-attempts") && f.maxAttempts < 1 {
		return s, badFlag("--max-attempts", strconv.Itoa(int(f.maxAttempts)), "it is 1 or more")
	}
	if set("not-after") {
		var e store.Edit
		if err := editAt(f.notAfter, &e); err != nil {
			return s, badFlag("--not-after", f.notAfter, err.Error())
		}
		s.NotAfter, s.NotAfterIn = e.RunAt, e.RunIn
	}
	if set("per") {
		s.Per = &f.per
	}
	if set("timeout") {
		if f.timeout < time.Millisecond {
			return s, badFlag("--timeout", f.timeout.String(), "it must be longer than nothing, such as 90s")
		}
		s.Timeout = &f.timeout
	}
	if set("priority") && set("priority-name") {
		return s, badFlag("--priority-name", f.priorityName, "it stands in place of --priority: give one of them")
	}
	s.Priority, s.PriorityName = int(f.priority), given("priority-name", &f.priorityName)
	if set("at") {
		if err := f.when(&s); err != nil {
			return s, err
		}
	}
	if f.vars != nil {
		vars, err := readVars(f.vars)
		if err != nil {
			return s, cli.Usage("submit", err.Error(), "bellhop submit --help")
		}
		s.Vars = vars
	}
	return s, nil
}

// when reads --at.
func (f submitFlags) when(s *store.Submission) error {
	if after, ok := strings.CutPrefix(f.at, "+"); ok {
		d, err := time.ParseDuration(after)
		if err != nil || d < 0 {
			return badFlag("--at", f.at, "want a time span such as +90s, +10m or +2h")
		}
		s.RunIn = &d
		return nil
	}
	t, err := time.Parse(time.RFC3339, f.at)
	if err != nil {
		return badFlag("--at", f.at, "want a time such as 2026-12-24T18:00:00Z or 2026-12-24T18:00:00+01:00, or +10m")
	}
	s.RunAt = &t
	return nil
}

func badFlag(name, value, why string) error {
	return cli.Usage("submit", fmt.Sprintf("%s %q: %s", name, value, why), "bellhop submit --help")
}

func submit(ctx context.Context, a *cli.App, db *cli.Session, s store.Submission, wait bool) error {
	id, err := db.Submit(ctx, s)
	if err != nil {
		return refusedSubmission(err)
	}
	switch {
	case wait && a.JSON():
		// One value is printed, and it is the outcome.
	case a.JSON():
		return a.PrintJSON(struct {
			ID scheduler.JobID `json:"id"`
		}{id})
	default:
		if err := a.Printf("%d\n", id); err != nil {
			return err
		}
	}
	if !wait {
		return nil
	}
	return waitForSubmitted(ctx, a, db, id)
}

// submitRules says in words what the queue's constraints demand. A test keeps
// it complete.
var submitRules = map[string]string{
	"jobqueue_type_named":        "the type is empty, or longer than 500 bytes",
	"jobqueue_args_or_msq":       "a job has ARGS or --msq, not both",
	"jobqueue_args_one_line":     "ARGS must be one line: agents are given lines",
	"jobqueue_msq_not_empty":     "the query of --msq is empty",
	"jobqueue_repeat_known":      "--repeat is once or until_empty",
	"jobqueue_repeat_needs_msq":  "--repeat is about the query of --msq, and there is none",
	"jobqueue_priority_range":    "--priority goes from -20 (first) to 19 (last)",
	"jobqueue_priority_name":     "--priority-name is of letters and digits",
	"jobqueue_key_not_empty":     "--key must not be empty nor longer than 1000 characters, or 2600 bytes",
	"jobqueue_run_on_not_empty":  "--run-on is empty, or longer than 1000 bytes",
	"jobqueue_max_attempts":      "--max-attempts is 1 or more",
	"jobqueue_timeout_positive":  "--timeout must be longer than nothing",
	"jobqueue_on_failure_known":  "--on-failure is fail, block or run",
	"dependency_wanted_ends":     "--wanted is one or more of succeeded, failed, cancelled, quarantined",
	"jobqueue_locks_well_formed": "--lock is level:name=exclusive or level:name=shared (name may be * for all or ? for unknown), or big",
	"jobqueue_vars_are_strings":  "variables are strings",
	"jobqueue_state_known":       "there is no such state",
}

// refusedSubmission turns what the queue refused into a sentence.
func refusedSubmission(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	if rule, ok := submitRules[refused.ConstraintName]; ok {
		return cli.Usage("submit", rule, "bellhop submit --help")
	}
	f := cli.ExplainRefusal(err, refused)
	switch {
	case refused.Code == "22021": // character_not_in_repertoire
		return cli.Usage("submit", "what is submitted must be UTF-8: "+refused.Message, "bellhop submit --help")
	case f.Code == cli.ExitUsage && refused.Hint == "":
		f.Next = "bellhop submit --help"
	}
	return f
}
