package guard

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A guard whose agent is on another host starts the way there (ssh, or whatever
// carries stdio), has a guard at its end, and carries: the agent's 0, 1, 2 and
// the scheduler's commands. To the scheduler it is a guard like any other: it
// ends when nothing lives any more of what it was to guard.
//
// That it can say so when the line is dead is due to the lease. The far guard
// asks for it with ticks, and counts it from when it asked; so when the last
// tick that was answered is Lease old here, it is over there too, whatever the
// clocks show and however long things were under way.
const (
	// LineLease is how long the far side lives on without an answer.
	LineLease = 8 * time.Second
	lineTick  = 2 * time.Second
	lineSlack = time.Second      // for the far side to be dead when its lease is over
	openLimit = 20 * time.Second // for the far guard to greet, after whatever login scripts do
	sendLimit = 5 * time.Minute  // for the program to be sent there, once
	maxWords  = 4000
)

// near is the guard on the scheduler's side of a line.
type near struct {
	request Request
	way     int // pid
	in      int // the way's stdin
	out     int // the way's stdout
	err     int // the way's stderr
	to      *sender
	stdin   *intake
	stdout  *outlet
	stderr  *outlet
	events  chan farEvent
	words   lastWords

	up      bool // the far guard has greeted and has the request
	started bool // the agent runs
	reason  Reason
	dying   bool // it was told to end
	lease   time.Time
	leased  bool
	until   time.Time // the far side's lease as it may count it at the latest
	heard   time.Time
}

// farEvent is what the goroutine that reads the line has to tell.
type farEvent struct {
	kind byte
	tick uint32
	rep  Report
	why  string
}

const (
	eventGreeted = 'g' // the far guard is there
	eventSending = 'S' // the program is being sent
	eventOver    = '!' // the line has ended; why says more
)

// runNear carries one agent.
func runNear(r Request) int {
	n := &near{request: r, events: make(chan farEvent)}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	if errno := n.startWay(); errno != 0 {
		if errno == syscall.ENOENT {
			n.unreached(r.Way[0] + ": no such program on this machine; see hosts[].connect in bellhop.yaml")
			return 1
		}
		report(Report{Kind: Failed, Value: uint32(errno)})
		return 1
	}
	deafen()
	n.to = &sender{fd: n.in}
	n.stdin = newIntake(0, frameStdin, frameNoMore, n.to)
	n.stdout = newOutlet(1, frameStdout, n.to, nullAt)
	n.stderr = newOutlet(2, frameStderr, n.to, nullAt)
	go n.words.read(n.err)
	go n.listen()
	n.setLease(r.Lease)
	commands := make(chan Command)
	go readCommands(controlFD, commands)
	n.loop(commands, term)
	n.endWay()
	return 0
}

func (n *near) loop(commands <-chan Command, term <-chan os.Signal) {
	now := time.Now()
	n.heard = now
	opened := now.Add(openLimit)
	clock := time.NewTimer(openLimit)
	for {
		clock.Reset(time.Until(n.deadline(opened)))
		select {
		case e := <-n.events:
			n.heard = time.Now()
			switch e.kind {
			case eventSending:
				opened = n.heard.Add(sendLimit)
			case eventGreeted:
				n.open()
			case frameTick:
				n.answer(e.tick)
			case byte(Started):
				n.started = true
				report(e.rep)
			case byte(Failed), byte(Missing):
				report(e.rep)
				return
			case byte(Exited):
				n.finish(e.rep)
				return
			case eventOver:
				n.lost(e.why)
				return
			}
		case c, ok := <-commands:
			if n.obey(c, ok); !ok {
				commands = nil
			}
		case <-term:
			n.die(Terminated)
		case now = <-clock.C:
			switch {
			case n.leased && now.After(n.lease):
				n.die(LeaseMissed)
			case !n.up && now.After(opened):
				n.lost("silent: the host was reached, but no guard greeted there within " + decimal(int(openLimit/time.Second)) + " s")
				return
			}
			if n.up && now.Sub(n.heard) > LineLease {
				n.lost("silent: nothing was heard from the host for " + decimal(int(LineLease/time.Second)) + " s")
				return
			}
		}
		if n.dying && !n.up {
			n.unreached("given_up: it was to end before the line was there")
			return
		}
	}
}

// obey carries out a command. If ok is false, the scheduler has closed its end.
func (n *near) obey(c Command, ok bool) {
	switch {
	case !ok:
		n.die(SchedulerGone)
	case c.Op == Kill:
		n.die(Ordered)
	case c.Op == Lease:
		n.setLease(c.Value)
	case c.Op == Hangup:
		n.later(frameHangup)
	}
}

// deadline is the next check that no message announces.
func (n *near) deadline(opened time.Time) time.Time {
	at := opened
	if n.up {
		at = n.heard.Add(LineLease)
	}
	if n.leased && !n.dying && n.lease.Before(at) {
		at = n.lease
	}
	return at.Add(time.Millisecond)
}

// later sends a frame from a goroutine of its own: the loop must not wait for a
// line that is stuck.
func (n *near) later(kind byte, list ...uint32) { go n.to.numbers(kind, list...) }

// open hands the request to the far guard, which has greeted.
func (n *near) open() {
	n.up = true
	r := n.request
	r.Way, r.WayEnv = nil, nil
	left := n.left()
	r.Lease = left
	n.until = time.Now().Add(time.Duration(left) * time.Millisecond)
	body := r.Encode()[4:]
	go func() {
		if n.to.send(frameRequest, body) {
			go n.stdout.run()
			go n.stderr.run()
			n.stdin.run()
		}
	}()
}

// left is what the far side may have of the lease, in milliseconds. It is never
// 0, which would mean for ever.
func (n *near) left() uint32 {
	left := LineLease
	if n.leased {
		left = min(left, time.Until(n.lease))
	}
	return uint32(max(1, left/time.Millisecond))
}

func (n *near) answer(tick uint32) {
	left := n.left()
	n.until = time.Now().Add(time.Duration(left) * time.Millisecond)
	n.later(frameTick, tick, left)
}

func (n *near) setLease(ms uint32) {
	n.leased = ms > 0
	n.lease = time.Now().Add(time.Duration(ms) * time.Millisecond)
}

// die ends what runs, for the first reason that comes.
func (n *near) die(why Reason) {
	if !n.dying {
		n.dying, n.reason = true, why
		n.later(frameKill)
	}
}

// finish passes on the end of the agent, after all that it said.
func (n *near) finish(r Report) {
	n.stdout.end()
	n.stderr.end()
	for _, o := range []*outlet{n.stdout, n.stderr} {
		<-o.done
	}
	if n.dying && r.Reason != ByItself {
		r.Reason = n.reason
	}
	report(r)
}

// lost reports the end of the line as soon as nothing can live any more at its
// other end.
func (n *near) lost(why string) {
	KillTree(syscall.Getpid()) // the way: should it still carry, the far side sees its end now
	if !n.up {
		n.unreached(why)
		return
	}
	time.Sleep(time.Until(n.until.Add(lineSlack)))
	if !n.started {
		n.unreached(why)
		return
	}
	n.stdout.end()
	n.stderr.end()
	for _, o := range []*outlet{n.stdout, n.stderr} {
		<-o.done
	}
	if n.leased && !n.dying && !time.Now().Before(n.lease) { // the far side knew a moment sooner
		n.dying, n.reason = true, LeaseMissed
	}
	if n.dying {
		report(Report{Kind: Exited, Reason: n.reason, Value: uint32(syscall.SIGKILL)})
		return
	}
	reportWords(Report{Kind: Exited, Reason: LineLost}, why)
}

func (n *near) unreached(why string) { reportWords(Report{Kind: Unreached}, why) }

func reportWords(r Report, why string) {
	if len(why) > maxWords {
		why = why[:maxWords]
	}
	r.Value = uint32(len(why))
	b := r.encode()
	_ = writeFull(statusFD, append(b[:], why...)) // a scheduler that is gone reads no report
}

// startWay starts the command that leads to the other host.
func (n *near) startWay() syscall.Errno {
	var in, out, err [2]int
	for _, p := range []*[2]int{&in, &out, &err} {
		if e := Pipe(p, false); e != nil {
			return syscall.EMFILE
		}
	}
	path := lookPath(n.request.Way[0], n.request.WayEnv)
	if path == "" {
		return syscall.ENOENT
	}
	var errno syscall.Errno
	n.way, errno = forkExec(path, n.request.Way, &syscall.ProcAttr{Env: n.request.WayEnv, Sys: &syscall.SysProcAttr{},
		Files: []uintptr{uintptr(in[0]), uintptr(out[1]), uintptr(err[1])}})
	_, _, _ = syscall.Close(in[0]), syscall.Close(out[1]), syscall.Close(err[1])
	n.in, n.out, n.err = in[1], out[0], err[0]
	return errno
}

// endWay leaves no process of the way behind.
func (n *near) endWay() {
	_ = syscall.Close(n.in)
	w := watch{agent: n.way}
	w.killAll()
}

// listen reads the line: the greeting, then frames.
func (n *near) listen() {
	why := n.greet()
	if why == "" {
		n.events <- farEvent{kind: eventGreeted}
		why = n.frames()
	}
	n.events <- farEvent{kind: eventOver, why: n.words.because(why)}
}

func (n *near) frames() (why string) {
	buf := make([]byte, framePiece)
	for {
		kind, body, err := readFrame(n.out, buf)
		if err != nil {
			return "the line to the host ended"
		}
		ok := true
		switch kind {
		case frameStdout:
			ok = n.stdout.put(body)
		case frameOutEnd:
			n.stdout.end()
		case frameStderr:
			ok = n.stderr.put(body)
		case frameErrEnd:
			n.stderr.end()
		case frameCredit:
			if ok = len(body) == 8; ok {
				n.stdin.grant(le32(body[4:]))
			}
			continue
		case frameTick:
			if ok = len(body) == 4; ok {
				n.events <- farEvent{kind: frameTick, tick: le32(body)}
			}
			continue
		case byte(Started), byte(Failed), byte(Missing), byte(Exited):
			if ok = len(body) == ReportSize; ok {
				n.events <- farEvent{kind: kind, rep: DecodeReport([ReportSize]byte(body))}
			}
			continue
		default:
			ok = false
		}
		if !ok {
			return "the guard on the host spoke nonsense"
		}
	}
}
