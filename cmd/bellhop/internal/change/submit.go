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
	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
	"bellhop/scheduler/lock"
	"bellhop/seal"
	"bellhop/sql/view"
)

// submitFlags is what the command line says about a job: most of it as the queue takes it.
type submitFlags struct {
	view.Submission
	at, notAfter, batch string
	priority            cli.Priority
	vars, after         []string
	wait, quiet         bool
	by                  string
	keys                string
	plain               []string
	anyway              bool
	promised            *time.Time // by
}

func SubmitCommand(a *cli.App) *cobra.Command {
	var f submitFlags
	c := &cobra.Command{
		Use:   "submit TYPE [ARGS]",
		Short: "Add a job; prints its id",
		Long: `Add a job; prints its id.

The agent of TYPE gets ARGS as one line. With --msq it gets the rows of a query
instead, one line each. A type without an agent, an unknown host, and a variable
that no agent takes are accepted, with a warning.

With --after the job waits until other jobs have ended. They must have succeeded,
unless --wanted names other outcomes. If they end otherwise, --on-failure decides:
the job fails, stays blocked (until a retry of them succeeds), or runs.

With --key, a second submission of the same job prints the id of the first;
another job under the same key is refused (exit code 7). A key is taken until its
job is pruned, whatever its outcome; with --once open until its job has ended,
with --per 24h for a day. With --replace a job that waits under the key gets the
new ARGS.

With --by the job is submitted if the forecast promises that it has ended by then: if
nine of ten cases keep it. Else the reasons are told (exit code 7), unless --anyway.
A promise is watched: bellhop explain says when it is in danger.

With --seal-with the database, its logs and backups never have ARGS and vars in plain
text: instances with the key open them for the agent. bellhop key new makes the file.`,
		Example: `  bellhop submit license /srv/a.c
  bellhop submit license --msq "select path from files where license is null" --key scan.2026-11-22 --wait
  bellhop submit report --key nightly --per 24h
  bellhop submit index /srv --key index --replace --at +5s
  bellhop submit notify bob --after scan.2026-11-22 --after 42 --on-failure run
  bellhop submit report --at +10m --priority -5 --var YEAR=2026
  bellhop submit report --by 06:00
  bellhop submit mail ann@example.org --seal-with app.keys`,
		Args: a.Args(typeAndArgs),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(a, cmd, args) },
	}
	f.flags(c)
	return c
}

// run submits what the words and flags say.
func (f *submitFlags) run(a *cli.App, cmd *cobra.Command, args []string) error {
	// Mistakes are told before a database is looked for.
	s, err := f.submission(cmd, args)
	if err == nil {
		err = f.promises(cmd)
	}
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
		if f.promised != nil {
			return promise(ctx, a, db, s, *f)
		}
		return submit(ctx, a, db, s, f.wait)
	})(cmd, args)
}

// typeAndArgs checks the words of the command.
func typeAndArgs(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("it needs the type of the job")
	case 1, 2:
		return nil
	}
	return fmt.Errorf("it takes one TYPE and one ARGS, got %d words: put quotes around ARGS", len(args))
}

func (f *submitFlags) flags(c *cobra.Command) {
	flags := c.Flags()
	fields := cli.Fields{Flags: flags, Of: grammar.Submission}
	fields.Into(&f.Submission, "run_at", "not_after", "batch", "priority", "vars", "after", "wanted")
	fields.Var(&f.at, "run_at")
	fields.Var(&f.notAfter, "not_after")
	fields.Var(&f.batch, "batch")
	fields.Var(&f.priority, "priority")
	fields.Var(&f.vars, "vars")
	fields.Var(&f.after, "after")
	fields.Var((*cli.Commas)(&f.Wanted), "wanted")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "do not warn if no running instance has an agent of TYPE")
	flags.StringVar(&f.keys, "seal-with", "", "seal ARGS and vars with the first key of this `file`, so that the database never has them in plain text")
	flags.StringArrayVar(&f.plain, "plain", nil, "with --seal-with: leave the var of this `name` plain (repeatable)")
	flags.StringVar(&f.by, "by", "", "promise its end by this `time`: 06:00, '06:00 Europe/Prague', '2026-12-01 06:00' or +90m")
	flags.BoolVar(&f.anyway, "anyway", false, "with --by: submit it although it cannot be promised")
	flags.BoolVar(&f.wait, "wait", false, "wait for its end, and print its result; exit code 1 unless it succeeded")
}

// submission checks the flags and makes a job of them.
func (f submitFlags) submission(cmd *cobra.Command, args []string) (view.Submission, error) {
	set, s := cmd.Flags().Changed, f.Submission
	if words := strings.Fields(args[0]); args[0] != "" && (len(words) != 1 || words[0] != args[0]) {
		return s, cli.Usage("submit", fmt.Sprintf("a type has no blanks, and %q has", args[0]), meant(args))
	}
	s.Type = scheduler.TypeName(args[0])
	if len(args) == 2 {
		s.Args = &args[1]
	}
	// The queue would refuse it too, or let it wait, and not say at which character.
	if _, err := lock.ParseAll(f.Locks, nil); err != nil {
		return s, cli.Usage("submit", "--lock: "+cli.Flat(err.Error()), "bellhop submit TYPE --lock customer:42=exclusive")
	}
	// As agents have it, and whatever else runs a command under a span: what is no
	// traceparent there is none of ours.
	if parent := os.Getenv("TRACEPARENT"); parent != "" {
		if _, ok := scheduler.ParseTrace(parent); ok {
			s.Traceparent = &parent
		}
	}
	if err := f.needs(&s); err != nil {
		return s, err
	}
	if set("max-attempts") && f.MaxAttempts < 1 {
		return s, badFlag("--max-attempts", strconv.Itoa(int(f.MaxAttempts)), "it is 1 or more")
	}
	if set("not-after") {
		var e view.Edit
		if err := editAt(f.notAfter, &e); err != nil {
			return s, badFlag("--not-after", f.notAfter, err.Error())
		}
		s.NotAfter, s.NotAfterIn = e.RunAt, e.RunIn
	}
	if s.Timeout != nil && *s.Timeout < time.Millisecond {
		return s, badFlag("--timeout", s.Timeout.String(), "it must be longer than 0, such as 90s")
	}
	if set("priority") && set("priority-name") {
		return s, badFlag("--priority-name", *s.PriorityName, "it replaces --priority: give one of them")
	}
	s.Priority = int(f.priority)
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
	return s, f.seal(&s)
}

// meant is what a type with blanks was meant to be: a type and its arguments.
func meant(args []string) string {
	words := strings.Fields(strings.Join(args, " "))
	switch len(words) {
	case 0:
		return "bellhop submit TYPE [ARGS]"
	case 1:
		return "did you mean: bellhop submit " + cli.ShellWord(words[0])
	}
	return "did you mean: bellhop submit " + cli.ShellWord(words[0]) + " " + cli.ShellQuoted(strings.Join(words[1:], " "))
}

// seal seals what the job is given, with --seal-with.
func (f submitFlags) seal(s *view.Submission) error {
	if f.keys == "" {
		if f.plain != nil {
			return badFlag("--plain", f.plain[0], "it concerns --seal-with, which is not given: all vars are plain")
		}
		return nil
	}
	keys, err := seal.Read(f.keys)
	if err != nil {
		return badFlag("--seal-with", f.keys, err.Error())
	}
	if err := s.Seal(keys, f.plain); err != nil {
		return cli.Usage("submit", "--seal-with: "+err.Error(), "bellhop submit --help")
	}
	return nil
}

// promises reads --by.
func (f *submitFlags) promises(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("by") {
		if f.anyway {
			return badFlag("--anyway", "true", "it concerns the promise of --by, and none is asked for")
		}
		return nil
	}
	at, err := readBy(f.by, time.Now())
	if err != nil {
		return badFlag("--by", f.by, err.Error())
	}
	f.promised = &at
	return nil
}

// needs reads --after and --wanted.
func (f submitFlags) needs(s *view.Submission) error {
	for _, word := range f.after {
		if id, err := strconv.ParseInt(word, 10, 64); err == nil && cli.IsID(word) {
			s.After = append(s.After, scheduler.JobID(id))
		} else {
			s.AfterKeys = append(s.AfterKeys, word)
		}
	}
	for _, end := range f.Wanted {
		if !scheduler.JobState(end).Final() {
			return badFlag("--wanted", end, "outcomes are succeeded, failed, cancelled and quarantined")
		}
	}
	if f.Wanted != nil && f.after == nil {
		return badFlag("--wanted", strings.Join(f.Wanted, ","), "it concerns the jobs of --after, and none is given")
	}
	return nil
}

// when reads --at.
func (f submitFlags) when(s *view.Submission) error {
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

func submit(ctx context.Context, a *cli.App, db *cli.Session, s view.Submission, wait bool) error {
	return submitted(ctx, a, db, wait, nil, func() (scheduler.JobID, error) { return db.Submit(ctx, s) })
}

// submitted submits a job and prints its id, with its promise where it has one.
func submitted(ctx context.Context, a *cli.App, db *cli.Session, wait bool, p *report.Promise,
	do func() (scheduler.JobID, error)) error {
	id, err := do()
	if err != nil {
		return refusedSubmission(err)
	}
	switch {
	case wait && a.JSON():
		// One value is printed, and it is the outcome.
	case a.JSON():
		return a.PrintJSON(struct {
			ID      scheduler.JobID `json:"id"`
			Promise *report.Promise `json:"promise,omitempty"`
		}{id, p})
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

// refusedSubmission turns what the queue refused into a sentence.
func refusedSubmission(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	if demand, ok := grammar.Broken(refused.ConstraintName, grammar.Command); ok {
		return cli.Usage("submit", demand, "bellhop submit --help")
	}
	f := cli.ExplainRefusal(err, refused)
	switch {
	case refused.Code == "22021": // character_not_in_repertoire
		return cli.Usage("submit", "a job must be UTF-8: "+refused.Message, "bellhop submit --help")
	case f.Code == cli.ExitUsage && refused.Hint == "":
		f.Next = "bellhop submit --help"
	}
	return f
}
