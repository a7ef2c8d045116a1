package look

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"bellhop/cmd/bellhop/internal/cli"
)

func TopCommand(a *cli.App) *cobra.Command {
	var every time.Duration
	var once bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch hosts, children, the queue and its pace",
		Long: `Watch hosts, children, the queue and its pace, live on a terminal of any size;
Ctrl-C ends it. Where stdout is no terminal, or with --once, it prints one look.`,
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

// top shows frames until ctx ends.
func top(ctx context.Context, a *cli.App, s *cli.Session, every time.Duration, once bool) error {
	var last topView
	screen, live := a.Stdout.(*os.File)
	live = live && !once && !a.JSON() && term.IsTerminal(int(screen.Fd()))
	if live {
		if _, err := io.WriteString(screen, "\x1b[?1049h\x1b[?25l"); err != nil { // the other screen, without a cursor
			return err
		}
		defer func() { _, _ = io.WriteString(screen, "\x1b[?25h\x1b[?1049l") }() // the terminal as it was
	}
	err := frames(ctx, a, s, every, func(ctx context.Context) (bool, error) {
		v, err := look(ctx, s)
		if err != nil {
			return false, err
		}
		v.pace(last)
		last = v
		if a.JSON() {
			return true, a.PrintJSON(v)
		}
		width, height := 0, 0
		if live {
			if width, height, err = term.GetSize(int(screen.Fd())); err != nil || width < 2 {
				width, height = 80, 24 // a terminal that does not know
			}
		}
		lines := v.frame(width, height)
		if !live {
			return true, a.Printf("%s\n", strings.Join(lines, "\n"))
		}
		var b strings.Builder
		b.WriteString("\x1b[H")
		for i, line := range lines {
			if i > 0 {
				b.WriteString("\r\n")
			}
			b.WriteString(line + "\x1b[K")
		}
		b.WriteString("\x1b[J")
		_, err = io.WriteString(screen, b.String())
		return false, err
	})
	if ctx.Err() != nil { // it was told to end
		return nil
	}
	return err
}

// frames calls look at an even pace until it says done. A connection that is
// lost meanwhile is opened again, as in poll.
func frames(
	ctx context.Context, a *cli.App, s *cli.Session, every time.Duration,
	look func(context.Context) (done bool, err error),
) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		done := false
		if err := a.Poll(ctx, s, func(ctx context.Context) (bool, bool, error) {
			var err error
			done, err = look(ctx)
			return false, err == nil, err
		}); err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

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
	v.Queue, err = s.Queue(ctx)
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
