package agents

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// sharedGuard is the guard of all children of this instance on this machine. The owner of a ward hears of the
// ward's end on a pipe of the ward's own, and of the guard's own end by the end of that pipe: nothing stands
// between that could lose the word.
type sharedGuard struct {
	pid      int
	mark     string // what its agents have in their environment; empty: not known
	cgroup   string // in which it is with all that descends from it, where it may make one
	instance int64  // on its command line
	socket   *os.File

	mu      sync.Mutex
	wards   map[*guarded]bool
	retired bool // it gets no more wards, and is to end after the last
	reaped  bool // its pid has been reused, or may be
	once    sync.Once
}

// guardFor enters a ward under the guard that is there, or under a new one; alone
// under one that guards nothing else.
func (l *Launcher) guardFor(g *guarded, alone bool) (*sharedGuard, error) {
	l.guarding.Lock()
	defer l.guarding.Unlock()
	instance := l.instance.Load()
	if s := l.shared; s != nil && !alone {
		if s.instance != instance {
			s.retire()
		}
		if s.enter(g) {
			return s, nil
		}
	}
	s, err := l.newSharedGuard(instance)
	if err != nil {
		return nil, fmt.Errorf("start a guard (%s): %w", l.guardPath, err)
	}
	s.enter(g)
	if alone {
		s.retire() // it ends after this ward
	} else {
		l.shared = s
	}
	return s, nil
}

func (l *Launcher) newSharedGuard(instance int64) (*sharedGuard, error) {
	pair, err := guard.SocketPair()
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	defer syscall.Close(pair[1])
	if err := syscall.SetNonblock(pair[0], true); err != nil {
		_ = syscall.Close(pair[0])
		return nil, os.NewSyscallError("fcntl", err)
	}
	s := &sharedGuard{instance: instance, wards: map[*guarded]bool{}, socket: os.NewFile(uintptr(pair[0]), "guard")}
	args := slices.Concat(l.guardArgs, []string{instanceFlag, strconv.FormatInt(instance, 10), schedulerFlag, l.self})
	if s.pid, err = guard.Start(l.guardPath, args, uintptr(pair[1])); err != nil {
		_ = s.socket.Close()
		return nil, err
	}
	if stat, ok := guard.ReadStat(s.pid); ok {
		s.mark, s.cgroup = guard.Mark(s.pid, stat.Start), guard.Cgroup(s.pid, stat.Start)
	}
	if l.heir != nil && instance != 0 {
		s.inherit(l.heir(scheduler.InstanceID(instance)))
	}
	return s, nil
}

// inherit names the guard's heir. Where that cannot be handed over there is none.
func (s *sharedGuard) inherit(h guard.Heir) {
	if packet := h.Encode(); len(packet) <= guard.PacketRequest {
		_ = s.send(packet, nil, time.Now().Add(handshakeLimit))
	}
}

// Close ends the guard of this machine's children, once the last of them is
// dead. Nothing is to be launched after it; what is has a guard of its own.
func (l *Launcher) Close() {
	l.guarding.Lock()
	defer l.guarding.Unlock()
	if l.shared != nil {
		l.shared.retire()
		l.shared = nil
	}
}

// enter makes a ward one of those that the guard's end concerns.
func (s *sharedGuard) enter(g *guarded) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return false
	}
	s.wards[g] = true
	return true
}

// leave is for a ward of which nothing lives.
func (s *sharedGuard) leave(g *guarded) {
	s.mu.Lock()
	delete(s.wards, g)
	last := s.retired && len(s.wards) == 0
	s.mu.Unlock()
	if last {
		s.end()
	}
}

func (s *sharedGuard) retire() {
	s.mu.Lock()
	last := !s.retired && len(s.wards) == 0
	s.retired = true
	s.mu.Unlock()
	if last {
		s.end()
	}
}

// end sees the guard out, which has no wards.
func (s *sharedGuard) end() {
	s.once.Do(func() {
		s.inherit(guard.Heir{}) // the scheduler lives
		_ = s.socket.Close()
		late := time.AfterFunc(guardPatience, s.strike) // it may be stopped
		s.reap()
		late.Stop()
	})
}

// take hands the guard a ward: its descriptors and its request; one that is long
// goes over its link afterwards.
func (s *sharedGuard) take(files [4]int, request []byte, deadline time.Time) error {
	rights := syscall.UnixRights(files[3], files[0], files[1], files[2])
	return s.send(append([]byte{guard.NewWard}, request...), rights, deadline)
}

// send hands the guard one packet.
func (s *sharedGuard) send(packet, rights []byte, deadline time.Time) error {
	raw, err := s.socket.SyscallConn()
	if err != nil {
		return err
	}
	_ = s.socket.SetWriteDeadline(deadline)
	var sent error
	err = raw.Write(func(fd uintptr) bool {
		sent = guard.SendPacket(int(fd), packet, rights)
		return sent != syscall.EAGAIN
	})
	return errors.Join(err, sent)
}

// strike kills a guard that does not obey. Its agents die with it; the goroutines that wait for them see that, and
// do the rest.
func (s *sharedGuard) strike() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reaped {
		guard.KillTree(s.pid)
		_ = syscall.Kill(s.pid, syscall.SIGKILL)
	}
}

// fallen is for a guard that is dead, or has lost sight of a ward. It returns
// when nothing lives of what it guarded.
func (s *sharedGuard) fallen() {
	s.once.Do(func() {
		s.mu.Lock()
		s.retired = true
		s.mu.Unlock()
		s.strike()
		s.reap()
		_ = s.socket.Close()
		s.clearOrphans()
	})
}

func (s *sharedGuard) reap() {
	// Not reaped yet, so that strike may come meanwhile.
	waitDead(s.pid)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reaped = true
	reap(s.pid)
}

// members are the wards at this moment.
func (s *sharedGuard) members() []*guarded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.wards))
}

// handOver enters a ward under a guard and gives it its descriptors and, if it is short, its request. A guard that
// died unseen is replaced: its death is not a reason not to start.
func (l *Launcher) handOver(
	g *guarded, alone bool, theirs [4]int, r guard.Request, lease func() time.Duration,
) (err error) {
	for range 3 {
		if g.shared, err = l.guardFor(g, alone); err != nil {
			return err
		}
		left := lease()
		if r.Lease = millis(left); left < 0 {
			g.shared.leave(g)
			return scheduler.ErrLeaseOver
		}
		request := r.Encode()
		if len(request) > guard.MaxRequest {
			g.shared.leave(g)
			return errArgsTooLong
		}
		if len(request) > guard.PacketRequest {
			request = nil
		}
		if err = g.shared.take(theirs, request, time.Now().Add(handshakeLimit)); err == nil {
			g.handed = len(request) > 0
			return nil
		}
		dead := errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, os.ErrClosed)
		if dead || errors.Is(err, os.ErrDeadlineExceeded) {
			g.shared.fallen()
		}
		g.shared.leave(g)
		if !dead {
			return fmt.Errorf("hand the agent to its guard: %w", err)
		}
	}
	return fmt.Errorf("hand the agent to its guard: %w", scheduler.ErrUnguarded)
}

// given reads what a guard says at first of a ward.
func (g *guarded) given(request guard.Request) (r guard.Report, message string, err error) {
	if !g.handed {
		_, wrote := g.link.Write(request.Encode())
		if errors.Is(wrote, os.ErrDeadlineExceeded) {
			return r, "", fmt.Errorf("hand the agent to its guard: %w", wrote)
		}
		g.requestHanded()
	}
	r, message, err = g.report() // also where it closed the link: then this says why
	switch {
	case err == nil || g.far != "":
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("start %s: %w", request.Path, scheduler.ErrUnguarded)
	default:
		err = fmt.Errorf("wait for the guard to start %s: %w", request.Path, err)
	}
	return r, message, err
}
