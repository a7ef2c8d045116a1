package guard

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	socketFD = controlFD // of a guard of this machine's agents

	// Each start of an agent brings that many descriptors, and needs some more for a moment. A start without free
	// descriptors is refused, and told so.
	handed = 4
	spare  = 4
	ours   = 64 // at most: the guard's own, whatever it was started with

	firstNap = time.Millisecond
	longest  = 20 * time.Millisecond // between two looks at what is to be dead
	reminder = time.Second           // so often is said that a ward is still being ended

	atOnce = 8 // descriptors looked at before the dead are seen to
)

// wards are all agents of one instance on this machine. One goroutine, locked to
// the main thread, does everything: it waits for the socket on which new wards
// come, for each one's link, and for signals.
type wards struct {
	ears    *ears
	socket  int
	signals [2]int // a pipe: 'c' a child has ended, 't' SIGTERM

	byLink  map[int32]*ward
	byAgent map[int]*ward
	byTag   map[uint64]*ward
	own     uint64 // the tag that this guard bears itself
	slots   []int  // that were used and are free

	packet [1 + PacketRequest]byte // the last one that came

	rooms    rooms
	heir     Heir
	orphaned bool // the scheduler has closed the socket, or is dead

	left  bool // children of ours live, or may
	over  bool // the scheduler is gone, or we were told to end: no more wards
	sweep time.Time
}

// runWards guards until the scheduler is gone and all its wards are dead.
func runWards() int {
	dir, leave := enterCgroup()
	g := &wards{socket: socketFD, byLink: map[int32]*ward{}, byAgent: map[int]*ward{}, byTag: map[uint64]*ward{},
		own: ownTag(), rooms: rooms{dir: dir}}
	code := g.run()
	leave()
	if g.orphaned {
		g.heir.become()
	}
	return code
}

func (g *wards) run() int {
	signal.Notify(make(chan os.Signal, 1), others...) // caught and dropped; an exec makes them what they were
	var err error
	if g.ears, err = newEars(); err != nil {
		return 1
	}
	if Pipe(&g.signals, true) != nil {
		return 1
	}
	// Before the goroutine, which may be a while in coming.
	children, term := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	signal.Notify(term, syscall.SIGTERM)
	go g.passOn(children, term)
	if !g.ears.add(g.socket) || !g.ears.add(g.signals[0]) {
		return 1
	}
	for !g.over || len(g.byTag) > 0 {
		heard, err := g.ears.wait(g.patience())
		if err != nil && err != syscall.EINTR {
			break
		}
		for _, fd := range heard {
			switch int(fd) {
			case g.socket:
				g.receive()
			case g.signals[0]:
				g.signalled()
			default:
				if w := g.byLink[fd]; w != nil { // else it has ended in this round
					g.hear(w)
				}
			}
		}
		g.see()
	}
	(&watch{}).killAll() // processes of no known ward
	return 0
}

// passOn turns signals into bytes.
func (g *wards) passOn(children, term <-chan os.Signal) {
	for {
		b := []byte{'c'}
		select {
		case <-children:
		case <-term:
			b[0] = 't'
		}
		_, _ = syscall.Write(g.signals[1], b) // a full pipe wakes us all the same
	}
}

func (g *wards) signalled() {
	var b [64]byte
	n, _ := syscall.Read(g.signals[0], b[:])
	for _, c := range b[:max(0, n)] {
		if c == 't' {
			g.endAll(Terminated)
		}
	}
}

// endAll: no ward is taken from now on.
func (g *wards) endAll(why Reason) {
	if !g.over {
		g.over = true
		g.ears.drop(g.socket)
	}
	for _, w := range g.byTag {
		w.end(why)
	}
}

// receive takes one new ward: a message with four descriptors. What is to be
// started is in it, or comes on the ward's link.
func (g *wards) receive() {
	n, files, err := receivePacket(g.socket, g.packet[:])
	switch {
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return
	case err != nil || n == 0:
		g.orphaned = true
		g.endAll(SchedulerGone)
		return
	case g.packet[0] == NewHeir:
		g.heir = decodeHeir(g.packet[1:n])
		return
	}
	if len(files) == 0 {
		return // the scheduler sees the end of its link
	}
	if len(files) < handed || !g.room(files[0]) {
		tell(files[0], Report{Kind: Failed, Value: uint32(syscall.EMFILE)})
	} else if w := g.newWard(files); g.ears.add(w.link) {
		g.byLink[int32(w.link)] = w
		if n > 1 {
			w.heard = append(w.heard, g.packet[1:n]...)
			g.obey(w)
		}
		return
	} else {
		tell(w.link, Report{Kind: Failed, Value: uint32(syscall.ENOSPC)}) // fs.epoll.max_user_watches
		g.free(w)
		return
	}
	for _, fd := range files {
		_ = syscall.Close(fd)
	}
}

// room reports whether more descriptors can be had. It tries only where so many wards may have them all: at each start
// that would be eight calls of the system.
func (g *wards) room(fd int) bool {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && uint64(ours+handed*(len(g.byTag)+1)+spare) <= limit.Cur {
		return true
	}
	var more [spare]int
	got := 0
	for ; got < spare; got++ {
		n, ok := duplicate(fd)
		if !ok {
			break
		}
		more[got] = n
	}
	for _, fd := range more[:got] {
		_ = syscall.Close(fd)
	}
	return got == spare
}

func (g *wards) newWard(files []int) *ward {
	slot := len(g.byTag)
	if n := len(g.slots); n > 0 {
		slot, g.slots = g.slots[n-1], g.slots[:n-1]
	}
	w := &ward{slot: slot, tag: tagUnder(g.own, slot), link: files[0], files: [3]int(files[1:])}
	g.byTag[w.tag] = w
	return w
}

// patience is how long there is nothing to do unless a message comes, in milliseconds.
func (g *wards) patience() int {
	var at time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	sooner(g.sweep)
	for _, w := range g.byTag {
		if w.ending {
			sooner(w.look)
		} else {
			sooner(w.lease)
		}
	}
	if at.IsZero() {
		return -1
	}
	return int(max(0, (time.Until(at)+time.Millisecond-1)/time.Millisecond))
}

// see takes the dead, ends those whose time is over, and looks after those that
// are being ended.
func (g *wards) see() {
	g.reap()
	now := time.Now()
	due := false
	for _, w := range g.byTag {
		if !w.ending && !w.lease.IsZero() && !now.Before(w.lease) {
			w.end(LeaseMissed)
		}
		due = due || w.ending && (w.gone || !now.Before(w.look))
	}
	if due {
		g.finish(now)
	}
	g.sweep = time.Time{}
	if len(g.byTag) == 0 && g.left && !g.over {
		KillTree(syscall.Getpid()) // processes of no known ward
		g.sweep = now.Add(longest)
	}
}

// reap takes all that is dead.
func (g *wards) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD
			g.left = false
			return
		case pid == 0:
			g.left = true
			return
		default:
			if w := g.byAgent[pid]; w != nil {
				delete(g.byAgent, pid)
				w.gone, w.exit = true, status
				w.end(ByItself)
			}
		}
	}
}

// finish kills what still lives of wards that are being ended, and tells of
// those of which nothing does.
func (g *wards) finish(now time.Time) {
	strays, known := g.strays()
	var roots []int
	for _, w := range g.byTag {
		if !w.ending {
			continue
		}
		if w.gone && known && len(strays[w]) == 0 {
			if w.why == ByItself && w.room != "" && overMemory(w.room) {
				w.why = OverMemory
			}
			tell(w.link, Report{Kind: Exited, Reason: w.why, Value: uint32(w.exit)})
			g.free(w)
			continue
		}
		if now.Before(w.look) {
			continue
		}
		if !w.gone {
			roots = append(roots, w.agent)
		}
		roots = append(roots, strays[w]...)
		w.nap = min(2*max(w.nap, firstNap/2), longest)
		w.look = now.Add(w.nap)
		if now.Sub(w.said) >= reminder && !unread(w.link) { // else they are not read
			w.said = now
			tell(w.link, Report{Kind: Living})
		}
	}
	switch {
	case len(roots) == 0:
	case g.over: // all are to die: one walk does
		KillTree(syscall.Getpid())
	default:
		killTrees(roots)
	}
}

// strays are what descends from the wards' agents and has lost its parent, by
// ward. known is false when that could not be found out just now.
func (g *wards) strays() (of map[*ward][]int, known bool) {
	pids, known := g.strayPids()
	for _, pid := range pids {
		if w := g.wardOf(pid); w != nil {
			if of == nil {
				of = map[*ward][]int{}
			}
			of[w] = append(of[w], pid)
		}
	}
	return of, known
}

// wardOf tells whose a stray is: by what it inherited, or by its session. A
// guard among our wards gives its own wards tags under its own.
func (g *wards) wardOf(pid int) *ward {
	if w := g.byTagOrAbove(tagOf(pid)); w != nil {
		return w
	}
	if s, ok := ReadStat(pid); ok {
		for _, w := range g.byTag {
			if w.agent != 0 && w.agent == s.Session {
				return w
			}
		}
	}
	return nil
}

func (g *wards) byTagOrAbove(tag uint64) *ward {
	for ; tag != 0; tag >>= slotBits {
		if w := g.byTag[tag]; w != nil {
			return w
		}
	}
	return nil
}

func (g *wards) dropLink(w *ward) {
	if w.link >= 0 {
		delete(g.byLink, int32(w.link))
		g.ears.drop(w.link)
		_ = syscall.Close(w.link)
		w.link = -1
	}
}

// free forgets a ward of which nothing lives.
func (g *wards) free(w *ward) {
	g.dropLink(w)
	w.dropFiles()
	if w.room != "" {
		leaveRoom(w.room)
	}
	delete(g.byTag, w.tag)
	g.slots = append(g.slots, w.slot)
}
