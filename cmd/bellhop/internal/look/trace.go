package look

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/report"
	"bellhop/scheduler/words"
)

// shownNeeds is how many of the jobs that a job needs are shown.
const shownNeeds = 100

func TraceCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "trace ID",
		Short: "Show the timeline of a job",
		Long: `Show the timeline of a job, named by id or key, from bellhop's own records: its
dependencies, its wait, the start of its agent, every attempt, and every lost run. No
collector is needed. If observability.trace_url is configured, it prints the link to
the same trace in the collector.`,
		Example: "  bellhop trace 42\n  bellhop trace nightly -o json",
		Args:    a.JobArgs(1, 1),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			job, err := cli.ReadJob(ctx, s.Look, args[0])
			if err != nil {
				return err
			}
			attempts, err := s.Look.Attempts(ctx, job.ID)
			if err != nil {
				return err
			}
			lost, err := s.Look.Lost(ctx, job.ID)
			if err != nil {
				return err
			}
			needs, err := s.Needs(ctx, job.ID, shownNeeds)
			if err != nil {
				return err
			}
			c, err := a.LoadConfig()
			if err != nil {
				return err
			}
			w := report.NewWaterfall(job, attempts, lost, needs, c.Observability.TraceURL)
			if a.JSON() {
				return a.PrintJSON(w)
			}
			return printWaterfall(a, w)
		}),
	}
}

// traceNarrow is the width below which there is no room for bars, and
// traceWide that of what is no terminal.
const (
	traceNarrow = 60
	traceWide   = 100
)

// printWaterfall prints a line a step: what, when after the submission, for how
// long, and the same as a bar where there is room.
func printWaterfall(a *cli.App, w report.Waterfall) error {
	width, terminal := cli.TerminalWidth(a.Stdout)
	if n, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && n > 0 && terminal {
		width = n
	}
	if width <= 0 {
		width = traceWide
	}
	title := fmt.Sprintf("job %d %s: %s", w.ID, w.Type, w.State)
	if w.Row.Key != nil {
		title += ", key " + *w.Row.Key
	}
	lines := []string{title, "submitted " + cli.Moment(&w.Row.CreatedAt), "trace " + w.TraceID}
	lines = append(lines, waterfallLines(&w, width)...)
	for i, line := range lines {
		if line = cli.Clean(line); terminal {
			line = cli.Cut(line, width)
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	if w.TraceURL != "" { // whole, so that it can be followed
		lines = append(lines[:3], append([]string{cli.Clean(w.TraceURL)}, lines[3:]...)...)
	}
	return a.Printf("%s\n", strings.Join(lines, "\n"))
}

func waterfallLines(w *report.Waterfall, width int) (lines []string) {
	if len(w.Steps) == 0 {
		return nil
	}
	from, to, names := w.Row.CreatedAt, w.Row.CreatedAt, 0
	for _, s := range w.Steps {
		if end := s.From.Add(time.Duration(s.Seconds * float64(time.Second))); end.After(to) {
			to = end
		}
		if s.From.Before(from) {
			from = s.From
		}
		names = max(names, words.Width(s.What))
	}
	names = min(names, max(8, width/3))
	room := width - names - 2*11 - 1
	for _, s := range w.Steps {
		after := s.From.Sub(w.Row.CreatedAt).Seconds()
		sign := "+"
		if after < 0 {
			sign, after = "-", -after
		}
		took := cli.Span(&s.Seconds)
		if s.To == nil {
			took += "…"
		}
		line := fmt.Sprintf("%s %10s %10s", words.Pad(cli.Cut(s.What, names), names), sign+cli.Span(&after), took)
		if width >= traceNarrow {
			line += " " + stripe(s, from, to, room)
		}
		lines = append(lines, strings.TrimRight(line, " "))
		if more := s.More(); more != "" {
			lines = append(lines, strings.Repeat(" ", 2)+more)
		}
	}
	return lines
}

// stripe is a step as a part of the whole time; what waits is drawn lightly.
func stripe(s report.Step, from, to time.Time, room int) string {
	whole := max(to.Sub(from).Seconds(), 1e-9)
	begin := min(int(s.From.Sub(from).Seconds()/whole*float64(room)), room-1)
	n := max(1, int(s.Seconds/whole*float64(room)+0.5))
	mark := "█"
	if s.Name == "wait" {
		mark = "░"
	}
	return strings.Repeat(" ", begin) + strings.Repeat(mark, min(n, room-begin))
}
