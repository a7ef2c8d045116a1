package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"bellhop/scheduler"
)

// served are the signals that serve answers to.
var served = []os.Signal{
	syscall.SIGINT,
	syscall.SIGTERM,
	syscall.SIGQUIT,
	syscall.SIGHUP,
	syscall.SIGUSR1,
	syscall.SIGUSR2,
}

// summaryPatience is how long an actor may take to say what it is doing.
const summaryPatience = time.Second

// told is what an instance says of itself.
type told interface {
	Summary(context.Context) scheduler.Summary
}

// summary asks an instance what it is doing.
func summary(i told) scheduler.Summary {
	ctx, cancel := context.WithTimeout(context.Background(), summaryPatience)
	defer cancel()
	return i.Summary(ctx)
}

// asks answers a signal that only asks. It reports whether it was one.
func asks(i told, sig os.Signal, stderr io.Writer) bool {
	switch sig {
	case syscall.SIGUSR1, syscall.SIGHUP:
		_, _ = io.WriteString(stderr, summary(i).String()) // a failed write cannot be reported
	case syscall.SIGUSR2:
		s := summary(i)
		if len(s.MSQs) == 0 {
			_, _ = io.WriteString(stderr, "no msq is held\n")
		}
		for _, m := range s.MSQs { // a line each: however many there are, nothing is put together
			_, _ = fmt.Fprintln(stderr, m.Message())
		}
	default:
		return false
	}
	return true
}

// ending is how an instance comes to its end.
type ending struct {
	grace time.Duration // for running jobs, after SIGTERM
	brisk bool          // SIGINT is as SIGTERM
}

// waitForStop runs until a signal ends the instance, as the help text tells.
func waitForStop(
	i *Instance, end ending, signals <-chan os.Signal, m *manager, reload func(), stderr io.Writer,
	log *slog.Logger,
) error {
	for sig := range signals {
		if sig == syscall.SIGHUP {
			m.reloading(reload)
		}
		if asks(i, sig, stderr) {
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		_, renewing := sig.(renew)
		finish := sig == syscall.SIGINT && !end.brisk || renewing
		m.end(finish)
		if finish {
			log.Info("finishing running jobs, starting none (once more: as SIGTERM)", "signal", sig.String())
		} else {
			log.Info("stopping", "signal", sig.String(), "grace", end.grace)
			timer := time.AfterFunc(end.grace, cancel)
			defer timer.Stop()
		}
		stopped := make(chan struct{})
		defer close(stopped)
		var ordered atomic.Bool // a stop, while jobs were being finished
		go func() {
			for {
				select {
				case <-stopped:
					return
				case again := <-signals:
					if _, isRenew := again.(renew); isRenew || asks(i, again, stderr) || !finish {
						continue
					}
					if ordered.Swap(true) {
						cancel()
						continue
					}
					m.end(false)
					log.Info("stopping (once more: now)", "signal", again.String(), "grace", end.grace)
					time.AfterFunc(end.grace, cancel)
				}
			}
		}()
		if err := i.End(ctx); err != nil {
			return fmt.Errorf("stopping: %w", err)
		}
		log.Info("stopped")
		if renewing && !ordered.Load() {
			return errRenew
		}
		return nil
	}
	return nil
}

// holdSummaries keeps giving the last summary to the watcher that reports a crash.
func holdSummaries(ctx context.Context, i told, hold func(string), every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		s := summary(i)
		var b strings.Builder
		b.WriteString(s.At.Format(time.RFC3339) + " " + s.String())
		for _, m := range s.MSQs {
			b.WriteString("  " + m.Message() + "\n")
		}
		hold(b.String())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
