package guard

import (
	"syscall"
	"time"
)

// ward is one agent that is guarded, with all that descends from it.
type ward struct {
	slot  int
	tag   uint64 // what all its processes inherit
	link  int    // commands come on it, and reports go; -1: the other end is gone
	files [3]int // the agent's 0, 1, 2, until it runs
	room  string // its cgroup, if it has limits
	heard []byte // of its request, or of a command that is not whole yet

	agent  int  // its pid; 0: it does not run yet
	gone   bool // the agent has been reaped
	exit   syscall.WaitStatus
	lease  time.Time // zero: none
	ending bool
	why    Reason
	look   time.Time // when ending: the next one
	nap    time.Duration
	said   time.Time // that it is being ended
}

// end: the first reason is the one that is told.
func (w *ward) end(why Reason) {
	if !w.ending {
		w.ending, w.why = true, why
		w.gone = w.gone || w.agent == 0 // of one that never ran nothing lives
	}
}

func (w *ward) dropFiles() {
	for i, fd := range w.files {
		if fd > 0 {
			_ = syscall.Close(fd)
		}
		w.files[i] = 0
	}
}

// hear reads a ward's link: its request, unless it has that, then commands. The end of the link means that the
// owner of the ward is gone.
func (g *wards) hear(w *ward) {
	var buf [4096]byte
	for {
		n, errno := receiveNow(w.link, buf[:])
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return
		case errno != 0 || n <= 0:
			g.dropLink(w)
			if w.end(SchedulerGone); w.agent == 0 {
				g.free(w)
			}
			return
		}
		w.heard = append(w.heard, buf[:n]...)
		if !g.obey(w) {
			return
		}
		if n < len(buf) {
			return
		}
	}
}

// obey does what has been heard whole. false: the ward is no more.
func (g *wards) obey(w *ward) bool {
	if w.agent == 0 {
		if len(w.heard) < 4 {
			return true
		}
		size := le32(w.heard)
		if size > MaxRequest {
			return g.refuse(w, syscall.EMSGSIZE)
		}
		if uint32(len(w.heard)-4) < size {
			return true
		}
		r, err := decodeRequest(w.heard[4 : 4+size])
		if err != nil {
			return g.refuse(w, syscall.EPROTO)
		}
		w.heard = append([]byte(nil), w.heard[4+size:]...)
		if errno := g.start(w, r); errno != 0 {
			return g.refuse(w, errno)
		}
	}
	for ; len(w.heard) >= commandSize; w.heard = w.heard[commandSize:] {
		w.command(Command{Op: Op(w.heard[0]), Value: le32(w.heard[1:])})
	}
	if len(w.heard) == 0 {
		w.heard = nil
	}
	return true
}

func (w *ward) command(c Command) {
	switch c.Op {
	case Kill:
		w.end(Ordered)
	case Ask:
		tell(w.link, Report{Kind: Living})
	case Lease:
		w.setLease(c.Value)
	case Hangup:
		if !w.gone {
			_ = syscall.Kill(w.agent, syscall.SIGHUP) // not reaped yet, so the pid is still its own
		}
	}
}

func (w *ward) setLease(ms uint32) {
	if w.lease = (time.Time{}); ms > 0 {
		w.lease = time.Now().Add(time.Duration(ms) * time.Millisecond)
	}
}

// refuse tells that there is no agent.
func (g *wards) refuse(w *ward, errno syscall.Errno) bool {
	tell(w.link, Report{Kind: Failed, Value: uint32(errno)})
	g.free(w)
	return false
}

// start runs a ward's agent. If our copies of its 0, 1, 2 stayed open, no reader would ever see the end of a
// stream.
func (g *wards) start(w *ward, r Request) syscall.Errno {
	setTag(w.tag)
	room, ok := g.rooms.room(&r)
	w.room = room
	pid, errno := startAgent(r, [3]uintptr{uintptr(w.files[0]), uintptr(w.files[1]), uintptr(w.files[2])}, room)
	w.dropFiles()
	if errno != 0 {
		return errno
	}
	w.agent, g.left = pid, true
	g.byAgent[pid] = w
	w.setLease(r.Lease)
	said := Report{Kind: Started, Value: uint32(pid)}
	if !ok {
		said.Reason = Unlimited
	}
	tell(w.link, said)
	return 0
}

func tell(fd int, r Report) {
	b := r.encode()
	_, _ = syscall.Write(fd, b[:]) // a scheduler that is gone reads no report
}
