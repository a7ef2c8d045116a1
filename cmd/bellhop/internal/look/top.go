package look

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

func TopCommand(a *cli.App) *cobra.Command {
	var every time.Duration
	var once bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch hosts, jobs, children, the queue and its pace",
		Long: `Watch hosts, jobs and their progress, children, the queue and its pace, live on a
terminal of any size. For types with shares, it shows the keys that run and wait most.
Keys: q ends it, arrow and page keys scroll, / shows only rows with a text in their
type or name (esc: all rows), p pauses. NO_COLOR is obeyed. If stdout is not a terminal,
or with --once, it prints one look.`,
		Example: "  bellhop top\n  bellhop top --once",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return cli.Usage("top", "an interval of "+every.String()+" is too short", "bellhop top --interval 1s")
			}
			ctx, end := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
			defer end()
			return top(ctx, a, s, every, once)
		}),
	}
	cmd.Flags().DurationVar(&every, "interval", time.Second, "`time` between two looks")
	cmd.Flags().BoolVar(&once, "once", false, "print one look and end")
	return cmd
}

// top shows frames until ctx ends, or q is typed.
func top(ctx context.Context, a *cli.App, s *cli.Session, every time.Duration, once bool) error {
	// A connection that is lost meanwhile is opened again.
	patient := func(ctx context.Context) (v topView, err error) {
		err = a.Poll(ctx, s, func(ctx context.Context) (bool, bool, error) {
			v, err = look(ctx, s)
			return false, err == nil, err
		})
		return v, err
	}
	if out, is := a.Stdout.(*os.File); is && !once && !a.JSON() && term.IsTerminal(int(out.Fd())) {
		err := live(ctx, a, out, every, func(ctx context.Context) (v topView, err error) {
			for { // the screen stays, to show when the database is back
				if v, err = patient(ctx); err == nil || ctx.Err() != nil || !s.Conn.IsClosed() {
					return v, err
				}
			}
		})
		if ctx.Err() != nil { // it was told to end
			return nil
		}
		return err
	}
	v, err := patient(ctx)
	switch {
	case ctx.Err() != nil: // it was told to end
		return nil
	case err != nil:
		return err
	case a.JSON():
		return a.PrintJSON(v)
	}
	return a.Printf("%s\n", strings.Join(v.frame(0, 0), "\n"))
}

// How many jobs that run are shown, the newest; how many locks, and how many keys of each type that has shares.
const (
	topJobs  = 200
	topLocks = 10
	topKeys  = 5
)

// look reads all that a frame shows.
func look(ctx context.Context, s *cli.Session) (v topView, err error) {
	v.At = time.Now()
	if v.Instances, err = s.Instances(ctx); err != nil {
		return v, err
	}
	if v.Hosts, err = s.Hosts(ctx); err != nil {
		return v, err
	}
	if v.Children, err = s.Children(ctx); err != nil {
		return v, err
	}
	if v.Queue, err = s.Queue(ctx); err != nil {
		return v, err
	}
	running := view.Filter{States: []scheduler.JobState{scheduler.Assigned, scheduler.Running}, Limit: topJobs}
	if v.Jobs, err = s.Jobs(ctx, running); err != nil {
		return v, err
	}
	if v.Locks, err = s.LockHeads(ctx, topLocks); err != nil {
		return v, err
	}
	v.Shares, err = s.ShareHeads(ctx, topKeys)
	return v, err
}

// bar is how full something is, in so many characters.
func bar(taken, all, width int) string {
	if all <= 0 {
		return strings.Repeat("-", width)
	}
	full := min(width, (taken*width+all-1)/all)
	return strings.Repeat("#", full) + strings.Repeat(".", width-full)
}

func rateWords(rate float64) string {
	switch {
	case rate < 0:
		return "-"
	case rate < 10:
		return fmt.Sprintf("%.1f/s", rate)
	}
	return fmt.Sprintf("%.0f/s", rate)
}
