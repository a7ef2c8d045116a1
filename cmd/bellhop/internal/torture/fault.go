package torture

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bellhop/pgdev/wire"
)

// needs is what a fault asks of the place.
type needs struct {
	lines   bool // instances reach the server through lines that can be harmed
	own     bool // the server is the torture's own: it is killed, or its sessions are
	standby bool // and another one follows it
	owner   bool // the login may change settings of the database
}

// fault is one kind of harm. A stroke ends what it has begun, so that the next one finds the stage whole.
type fault struct {
	name    string
	words   string
	strokes int
	needs
	stroke func(context.Context, *stage) error
}

// faults are all kinds of harm, in the order of the table.
func faults() []fault {
	return []fault{
		{"serve-killed", "SIGKILL to an instance", 4, needs{}, serveKilled},
		{"serve-ended", "SIGTERM to an instance, then a new start", 4, needs{}, serveEnded},
		{"serve-paused", "SIGSTOP to an instance, for 0.3 to 2 leases", 3, needs{}, servePaused},
		{"guard-killed", "SIGKILL to a guard", 4, needs{}, guardKilled},
		{"guard-paused", "SIGSTOP to a guard, for up to half a lease", 3, needs{}, guardPaused},
		{"agent-killed", "SIGKILL to an agent", 2, needs{}, agentKilled},
		{"more-and-fewer", "three more instances, then three fewer", 1, needs{}, moreAndFewer},
		{"reload", "SIGHUP to each instance", 4, needs{}, reloaded},
		{"black-hole", "a connection that swallows everything, for 0.3 to 2 leases", 3, needs{lines: true}, blackHole},
		{"half-open", "a connection that breaks without either side being told", 3, needs{lines: true}, halfOpen},
		{"reset", "RST on all connections of an instance", 6, needs{lines: true}, reset},
		{"slow-line", "each piece of data takes 40 ms more, in pieces of 200 bytes", 2, needs{lines: true}, slowLine},
		{"answer-cut", "the connection breaks after a statement has run, before its answer arrives", 3, needs{lines: true}, answerCut},
		{"deaf-listener", "the connection that listens hears nothing", 2, needs{lines: true}, deafListener},
		{"deaf-for-good", "the connections that listen hear nothing any more", 2, needs{lines: true}, deafForGood},
		{"sessions-ended", "pg_terminate_backend on all sessions of instances", 5, needs{}, sessionsEnded},
		{"read-only", "the database takes no writes, for 0.3 to 1.5 leases", 2, needs{owner: true}, readOnly},
		{"rows-locked", "another transaction holds rows of the queue", 3, needs{}, rowsLocked},
		{"snapshot-held", "another transaction holds a snapshot", 1, needs{}, snapshotHeld},
		{"table-rewritten", "VACUUM FULL and REINDEX of the queue", 2, needs{}, tableRewritten},
		{"migrate", "bellhop migrate beside the work", 3, needs{}, migrated},
		{"connections-used-up", "all connections of the server are taken", 2, needs{own: true}, connectionsUsedUp},
		{"backend-killed", "SIGKILL to a backend: the server recovers", 2, needs{own: true}, backendKilled},
		{"backend-paused", "SIGSTOP to a backend of an instance, for 0.3 to 1.5 leases", 3, needs{own: true}, backendPaused},
		{"server-killed", "SIGKILL to the postmaster, and a start", 2, needs{own: true}, serverKilled},
		{"server-restarted", "an immediate restart of the server", 2, needs{own: true}, serverRestarted},
		{"promotion-synchronous", "the primary is killed, its synchronous standby promoted", 1,
			needs{own: true, standby: true},
			promotionSynchronous},
		{"promotion-asynchronous", "the primary is killed, a standby promoted that lacks its last second", 1,
			needs{own: true, standby: true}, promotionAsynchronous},
	}
}

// faultNamed finds a fault; of names joined by a plus sign, each stroke does all at once.
func faultNamed(name string) (f fault, known bool) {
	var parts []fault
	for part := range strings.SplitSeq(name, "+") {
		at := slices.IndexFunc(faults(), func(f fault) bool { return f.name == part })
		if at < 0 {
			return fault{}, false
		}
		parts = append(parts, faults()[at])
	}
	f = parts[0]
	for _, p := range parts[1:] {
		f.words += ", and at once " + p.words
		f.strokes = max(f.strokes, p.strokes)
		f.needs.lines, f.needs.own = f.lines || p.lines, f.own || p.own
		f.needs.standby, f.needs.owner = f.standby || p.standby, f.owner || p.owner
	}
	if len(parts) > 1 {
		f.name = name
		f.stroke = func(ctx context.Context, s *stage) error { return allAtOnce(ctx, s, parts) }
	}
	return f, true
}

// allAtOnce does one stroke of each fault that has strokes left: a standby is promoted once.
func allAtOnce(ctx context.Context, s *stage, parts []fault) error {
	errs := make([]error, len(parts))
	var all sync.WaitGroup
	for n, p := range parts {
		if s.strokes < p.strokes {
			all.Go(func() { errs[n] = p.stroke(ctx, s) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

// span is a time around the lease: some strokes end before it is over, some after.
func (s *stage) span(from, to float64) time.Duration {
	return s.between(time.Duration(from*float64(s.lag)), time.Duration(to*float64(s.lag)))
}

func serveKilled(ctx context.Context, s *stage) error {
	i := s.some()
	s.did("SIGKILL to %s", i.dir)
	i.kill()
	if s.luck.IntN(2) == 0 { // others take over, or it comes back first
		s.pause(ctx, s.span(0.1, 1.2))
	}
	return i.start()
}

func serveEnded(ctx context.Context, s *stage) error {
	i := s.some()
	s.did("SIGTERM to %s", i.dir)
	i.end()
	return i.start()
}

func servePaused(ctx context.Context, s *stage) error {
	i, span := s.some(), s.span(0.3, 2)
	s.did("SIGSTOP to %s for %s", i.dir, span)
	i.signal(syscall.SIGSTOP)
	s.pause(ctx, span)
	i.signal(syscall.SIGCONT)
	return nil
}

func guardKilled(ctx context.Context, s *stage) error {
	for _, pid := range s.some().guards() {
		s.did("SIGKILL to guard %d", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		break
	}
	return ctx.Err()
}

func guardPaused(ctx context.Context, s *stage) error {
	span := s.span(0.1, 0.5)
	for _, pid := range s.some().guards() {
		s.did("SIGSTOP to guard %d for %s", pid, span)
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
		break
	}
	s.pause(ctx, span)
	return ctx.Err()
}

func agentKilled(_ context.Context, s *stage) error {
	journal, err := readJournal(s.journal())
	if err != nil {
		return err
	}
	for pid := range living(journal) {
		s.did("SIGKILL to agent %d", pid)
		s.kills++
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	return nil
}

func moreAndFewer(ctx context.Context, s *stage) error {
	before := len(s.instances)
	s.did("three more instances")
	for range 3 {
		if err := s.add(s.instances[0].line != nil); err != nil {
			return err
		}
	}
	s.pause(ctx, s.span(0.3, 1))
	s.did("three fewer")
	s.mu.Lock()
	fewer := s.instances[before:]
	s.gone = append(s.gone, fewer...)
	s.instances = s.instances[:before:before]
	s.mu.Unlock()
	for _, i := range fewer {
		i.retire()
	}
	return ctx.Err()
}

func reloaded(ctx context.Context, s *stage) error {
	s.did("SIGHUP to each instance")
	for _, i := range s.instances {
		i.signal(syscall.SIGHUP)
	}
	s.pause(ctx, 200*time.Millisecond)
	return nil
}

// broken puts a fault on an instance's line for a while. A line that heals is a new one: what was swallowed is lost.
func broken(f wire.Fault, from, to float64, name string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		i, span := s.some(), s.span(from, to)
		s.did("%s between %s and the server for %s", name, i.dir, span)
		i.line.Set(f)
		s.pause(ctx, span)
		i.line.Set(wire.Fault{})
		i.line.Reset("")
		return nil
	}
}

// bell is the name of the connection that listens.
const bell = "bellhop bell"

var (
	blackHole    = broken(wire.Fault{Silent: true}, 0.3, 2, "a black hole")
	halfOpen     = broken(wire.Fault{Silent: true, Untold: true}, 0.3, 2, "a half-open line")
	slowLine     = broken(wire.Fault{Delay: 40 * time.Millisecond, Chop: 200}, 0.5, 1, "a slow line")
	deafListener = broken(wire.Fault{Only: bell, Silent: true}, 0.5, 1.5, "a deaf listener")
)

// deafForGood: only the instance itself can notice.
func deafForGood(ctx context.Context, s *stage) error {
	s.did("all listeners are deaf for good")
	for _, i := range s.instances {
		i.line.Deafen(bell)
	}
	return ctx.Err()
}

func reset(ctx context.Context, s *stage) error {
	i := s.some()
	s.did("RST on the lines of %s", i.dir)
	i.line.Reset("")
	s.pause(ctx, s.between(0, 300*time.Millisecond))
	return nil
}

func answerCut(ctx context.Context, s *stage) error {
	most := 500 + s.luck.IntN(4000)
	return broken(wire.Fault{Cut: wire.AfterBytes(func() int { return most })}, 0.1, 0.3, "cut answers")(ctx, s)
}
