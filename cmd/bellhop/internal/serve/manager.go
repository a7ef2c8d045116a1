package serve

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// managed is what the service manager is told about.
type managed interface {
	Healthy() string            // what keeps it from working, in words
	Alive(context.Context) bool // whether it answers at all
}

// manager is the service manager that started serve: systemd, or another program that gives NOTIFY_SOCKET. Without
// one, nothing is said.
type manager struct {
	ending atomic.Bool
	log    *slog.Logger
}

// How often the manager hears of an instance that is not ready yet, or has no
// watchdog.
const (
	manageStart = 100 * time.Millisecond
	manageEvery = 5 * time.Second
)

// attend tells the manager that the instance is ready, once it can work, how it
// is, and, for its watchdog, that it lives. To live is to answer: an instance
// that waits for its database is not ended for that. It returns with ctx.
func (m *manager) attend(ctx context.Context, i managed) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		m.log.Warn("the service manager's watchdog is not fed", "error", err)
	}
	every := manageEvery
	if watchdog > 0 {
		every = min(every, watchdog/3) // one that is missed is no end
	}
	ready := false
	said := ""
	for {
		why := i.Healthy()
		if !ready && why == "" && !m.ending.Load() {
			m.say(daemon.SdNotifyReady)
			ready = true
		}
		if status := cmp.Or(why, "works"); status != said && !m.ending.Load() {
			m.say("STATUS=" + status)
			said = status
		}
		if watchdog > 0 && m.alive(ctx, i, every) {
			m.say(daemon.SdNotifyWatchdog)
		}
		pause := every
		if !ready {
			pause = min(pause, manageStart)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// alive asks the instance. One that ends stops answering bit by bit; how long
// that may take is not the watchdog's affair.
func (m *manager) alive(ctx context.Context, i managed, patience time.Duration) bool {
	once, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return m.ending.Load() || i.Alive(once)
}

// end tells the manager that the instance comes to its end. One that finishes
// what runs may take any time: for the manager it goes on until then.
func (m *manager) end(finish bool) {
	m.ending.Store(true)
	if finish {
		m.say("STATUS=finishing running jobs, starting none")
		return
	}
	m.say(daemon.SdNotifyStopping + "\nSTATUS=stopping")
}

func (m *manager) say(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		m.log.Debug("the service manager does not listen", "error", err)
	}
}

// reloading does what a reload is, and tells the manager when it begins and ends.
func (m *manager) reloading(reload func()) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		reload()
		return
	}
	m.say(daemon.SdNotifyReloading)
	reload()
	m.say(daemon.SdNotifyReady)
}
