package look

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// logFlags is what `logs` is to show.
type logFlags struct {
	errors, both, follow, all bool
	attempt                   int
	since                     string
}

func LogsCommand(a *cli.App) *cobra.Command {
	var f logFlags
	c := &cobra.Command{
		Use:   "logs ID",
		Short: "Print the log of a job",
		Long: `Print the log of a job, named by id or key: its agent's output in the latest attempt,
unless --attempt names another one, or --all asks for all of them.

The output is the agent's stdout, and its messages if it is a warm agent; with -e
its stderr; with -b both, in order. The scheduler's own notes on the job go to stderr,
as do headings for lost runs and, with --all, for attempts. With -f further lines are
printed as they come, until the job ends; if the job waits, the reason is printed.
Of each attempt the first and the last 5,000 lines (512 KiB) are kept.`,
		Example: "  bellhop logs 42\n  bellhop logs -e nightly --attempt 1\n  bellhop logs --all --since 1h 42\n  bellhop logs -bf 43",
		Args:    a.JobArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("attempt") && f.attempt < 1 {
				return cli.Usage("logs", fmt.Sprintf("--attempt %d: attempts count from 1", f.attempt), "bellhop show "+args[0])
			}
			if f.all && f.attempt > 0 {
				return cli.Usage("logs", "--all and --attempt contradict each other", "bellhop logs --all "+args[0])
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				return logs(ctx, a, s, args[0], f)
			})(cmd, args)
		},
	}
	c.Flags().BoolVarP(&f.errors, "errors", "e", false, "its stderr")
	c.Flags().BoolVarP(&f.both, "both", "b", false, "its stdout and stderr, in order")
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on until the job has ended")
	c.Flags().BoolVarP(&f.all, "all", "a", false, "every attempt, each under a heading")
	c.Flags().StringVar(&f.since, "since", "", "lines since this `time` (UTC); 10m: of the last ten minutes")
	c.Flags().IntVar(&f.attempt, "attempt", 0, "the attempt, from 1 (default: the latest)")
	return c
}

// levels are the levels of the lines to print.
func (f logFlags) levels() []scheduler.Level {
	stdout := []scheduler.Level{
		scheduler.LevelOut, scheduler.LevelInfo, scheduler.LevelError, scheduler.LevelDebug, scheduler.LevelNote,
	}
	switch {
	case f.both:
		return append(stdout, scheduler.LevelErr)
	case f.errors:
		return []scheduler.Level{scheduler.LevelErr}
	}
	return stdout
}

func logs(ctx context.Context, a *cli.App, s *cli.Session, word string, f logFlags) error {
	from, err := since(f.since)
	if err != nil {
		return err
	}
	o, err := outcome(ctx, a, s, word, false)
	if err != nil {
		return err
	}
	reader := s.Logs(o.ID, f.levels()...)
	reader.Follow = f.follow
	if reader.Attempt = f.attempt; f.attempt == 0 && !f.all {
		reader.From = o.Attempt
	}
	out := newLogPrinter(a)
	out.since, out.runs = from, runs{from: reader.From, only: f.attempt, all: f.all}
	var waits whyWaiting
	follow := func(ctx context.Context) (news, done bool, err error) {
		reader.Through(s.Look)
		// Looked at first: a job's last lines are committed with its outcome or before.
		outcomes, err := s.Outcomes(ctx, []scheduler.JobID{o.ID})
		if err != nil {
			return false, false, err
		}
		over := !f.follow || len(outcomes) == 0 || outcomes[0].State.Final()
		if !over && !a.JSON() {
			if err := waits.tell(ctx, a, s, outcomes[0]); err != nil {
				return false, false, err
			}
		}
		if err := out.runs.read(ctx, s, o.ID); err != nil {
			return false, false, err
		}
		for more := true; more; {
			var lines []view.LogRow
			if lines, more, err = reader.Next(ctx); err != nil {
				return news, false, err
			}
			news = news || len(lines) > 0
			if err := out.print(lines); err != nil {
				return news, false, err
			}
		}
		out.head(time.Now().Add(time.Hour)) // whatever the clocks of machines say
		return news, over, nil
	}
	left := func() []scheduler.JobID { return []scheduler.JobID{o.ID} }
	err = a.Watching(ctx, "logs -f", left, func(ctx context.Context) error { return a.Poll(ctx, s, follow) })
	if err != nil {
		return err
	}
	// An attempt that was lost to the scheduler has lines and does not count.
	if f.attempt > o.Attempt && out.printed == 0 && (!f.follow || o.State.Final()) {
		return cli.Failed(cli.ExitNotFound, "not found", fmt.Sprintf("bellhop show %d", o.ID), "job %d has no attempt %d: it had %s", o.ID, f.attempt, cli.Count(o.Attempt, "attempt"))
	}
	return out.end()
}

// logPrinter prints lines as they come; in JSON, they are one array in the end.
type logPrinter struct {
	app     *cli.App
	escape  bool // on a terminal, agents' control characters are not let through
	since   time.Time
	runs    runs
	printed int
	told    bool // that output was truncated
}

func newLogPrinter(a *cli.App) *logPrinter {
	_, terminal := cli.TerminalWidth(a.Stdout)
	return &logPrinter{app: a, escape: terminal}
}

func (p *logPrinter) print(lines []view.LogRow) error {
	for _, l := range lines {
		if l.At.Before(p.since) {
			continue
		}
		p.head(l.At)
		var err error
		switch {
		case p.app.JSON():
			err = p.printJSON(l)
		case l.Level == scheduler.LevelNote:
			p.app.Note("%s", cli.Clean(p.once(l.Line)))
		case p.escape:
			_, err = io.WriteString(p.app.Stdout, cli.Clean(l.Line)+"\n")
		default:
			_, err = io.WriteString(p.app.Stdout, l.Line+"\n")
		}
		if err != nil {
			return err
		}
		p.printed++
	}
	return nil
}

// once leaves out of a remark what an earlier one has said: each child of a job has its own, and what is kept is the
// same for all.
func (p *logPrinter) once(remark string) string {
	rest, truncated := strings.CutPrefix(remark, scheduler.Truncated)
	if told := p.told; truncated && told {
		remark, _, _ = strings.Cut(rest, ";")
	}
	p.told = p.told || truncated
	return remark
}

// head prints the headings that stand before a line of that time.
func (p *logPrinter) head(at time.Time) {
	for _, text := range p.runs.until(at) {
		if !p.app.JSON() {
			p.app.Note("%s", cli.Clean(text))
		}
	}
}

func (p *logPrinter) printJSON(l view.LogRow) error {
	object, err := json.Marshal(l)
	if err != nil {
		return err
	}
	before := ",\n "
	if p.printed == 0 {
		before = "["
	}
	_, err = io.WriteString(p.app.Stdout, before+cli.Escaped(object))
	return err
}

// end closes the array.
func (p *logPrinter) end() error {
	switch {
	case !p.app.JSON():
		return nil
	case p.printed == 0:
		return p.app.Printf("[]\n")
	}
	return p.app.Printf("]\n")
}
