package agents

import (
	"errors"
	"syscall"
	"time"

	"bellhop/scheduler"
)

// closeDoubt is how long a closed stdout may mean that the agent is just dying.
const (
	closeDoubt = 100 * time.Millisecond
	// A line that is being cut can bring the end of stdout and not the end of
	// the agent: that is said when the far side's time is over (8 s), and is not
	// the agent's doing.
	farCloseDoubt = 12 * time.Second
)

// startWarm starts the agent and the goroutines that attend to it: one reads
// stdout and drives the agent, one reads stderr, one waits for the end.
func (p *Process) startWarm() error {
	request, err := p.launcher.request(p.host, p.spec, nil, nil)
	if err != nil {
		return err
	}
	g, err := p.begin(request, wires{stdin: true})
	if err != nil {
		if errors.Is(err, scheduler.ErrUnguarded) {
			p.unguarded(0)
		}
		return err
	}
	p.attachTo(g)
	return nil
}

// attachTo starts the goroutines. For an agent on another host orders may have
// come meanwhile: the caller sees to them.
func (p *Process) attachTo(g *guarded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialect = p.spec.Dialect
	g.stdout.hear, g.stdout.quiet, g.stdout.end = p.launcher.tapped(VoiceAgent, p.hear), p.settle, p.stdoutEnded
	g.stderr.hear, g.stderr.quiet, g.stderr.end = p.launcher.tapped(VoiceStderr, p.hearStderr), p.said.flush, p.said.flush
	p.g = g
	g.read()
	go p.attend(g)
}

// write writes the next line if the agent can take one. mu is held, which
// keeps lines whole and in order: the write itself never waits.
func (p *Process) write() {
	for p.ready && !p.inHand && !p.hold && !p.writing && !p.asking && !p.deaf && !p.closing && p.head < len(p.queue) {
		bytes, jobs := p.next()
		if jobs == 0 {
			continue
		}
		p.said.forget()         // before: what is said from now on may be of this line
		p.launcher.wrote(bytes) // before: the answer may be heard at once
		n, err := syscall.Write(p.g.stdinFD, bytes)
		if err == syscall.EAGAIN || err == syscall.EINTR {
			n, err = 0, nil
		}
		if err != nil { // the reader is gone, so it was not given
			p.deaf = true
			return
		}
		p.take(jobs)
		if n < len(bytes) {
			p.writing = true
			p.buf = nil
			p.g.readers.Add(1)
			go p.writeRest(bytes[n:])
		}
	}
}

// refusedCode is the exit code of a line that was never given to an agent.
const refusedCode = 126

func (p *Process) encode(line *scheduler.Line) ([]byte, error) {
	line, err := p.launcher.open(p.spec.Type, line) // what is kept of it here stays sealed
	if err != nil {
		return nil, err
	}
	if line.Vars != "" {
		if _, err := allowedVars(p.spec.Vars, line.Vars); err != nil {
			return nil, err
		}
	}
	if cap(p.buf) > keepLine {
		p.buf = nil
	}
	if p.dialect == DialectJSON {
		p.buf, err = encodeJSON(p.buf[:0], line)
	} else {
		p.buf, err = encodeClassic(p.buf[:0], line)
	}
	return p.buf, err
}

// writeRest waits for an agent that is slow to read, or never does: then the
// close of stdin ends it.
func (p *Process) writeRest(rest []byte) {
	defer p.g.readers.Done()
	_, err := p.g.stdin.Write(rest)
	p.mu.Lock()
	defer p.release()
	p.writing = false
	p.deaf = p.deaf || err != nil
	p.proceedAsks()
	p.write()
}

// CloseInput closes the agent's stdin and nothing else, to see what it does.
func (p *Process) CloseInput() {
	p.mu.Lock()
	defer p.release()
	if p.g != nil && !p.exiting {
		p.closeStdin()
	}
}

// closeStdin: mu is held, so no write can meet another file under the number.
func (p *Process) closeStdin() {
	p.closing = true
	p.endAsks()
	p.closeStdinOf(p.g)
}

func (p *Process) closeStdinOf(g *guarded) {
	if g.stdin != nil { // exec has none
		_ = g.stdin.Close()
	}
}

// hear takes one line of the agent's stdout.
func (p *Process) hear(line []byte, truncated bool) {
	switch {
	case p.broken:
	case !p.greeted:
		p.greet(line, truncated)
	case p.dialect == DialectJSON:
		if startsResult(line, truncated) {
			if why := p.unclear(remark{word: wordResult}); why != "" { // it is cut off, and its id may be
				p.breakOff(scheduler.Account{Reason: why})
				return
			}
			p.giveResult(line, true)
			return
		}
		p.remarks = parseJSON(line, p.remarks[:0])
		for _, r := range p.remarks {
			p.act(r, truncated)
		}
	default:
		p.act(parseClassic(line), truncated)
	}
}

// greet waits for the word that makes the agent ready.
func (p *Process) greet(line []byte, truncated bool) {
	spoken := p.spec.Dialect
	if spoken != DialectClassic {
		is, batch, why := parseHello(line, p.spec.Type)
		if why != (scheduler.Account{}) {
			p.breakOff(why)
			return
		}
		if is {
			p.batch = batch
			p.becomeReady(DialectJSON)
			return
		}
	}
	r := remark{word: wordDebug, text: line}
	if spoken != DialectJSON {
		r = parseClassic(line)
	}
	if r.word == wordOK {
		p.becomeReady(DialectClassic)
		return
	}
	p.act(r, truncated)
}

func (p *Process) becomeReady(d Dialect) {
	p.greeted = true
	p.said.flush()
	p.mu.Lock()
	defer p.mu.Unlock() // settle wakes
	p.dialect, p.ready, p.hold = d, true, true
	p.push(scheduler.ChildEvent{Kind: scheduler.EventReady, At: time.Now(), N: p.batch})
}

// act does what a remark asks for.
func (p *Process) act(r remark, truncated bool) {
	if r.about != (about{}) && !p.isAbout(r.about) {
		p.breakOff(scheduler.Account{Reason: "the agent spoke of another job than the one it has"})
		return
	}
	if why := p.unclear(r); why != "" {
		p.breakOff(scheduler.Account{Reason: why})
		return
	}
	switch r.word {
	case wordOK:
		p.wishes(r.wish)
		p.finish(true, 0, scheduler.Account{})
	case wordFail:
		p.wishes(r.wish)
		p.noteItem(r.text)
		p.finish(false, r.code, scheduler.Account{Reason: scheduler.SaidFailed, Message: clean(r.text)})
	case wordSuccess:
		p.mu.Lock()
		if p.inHand {
			p.successes++
		}
		p.mu.Unlock()
	case wordLog:
		p.note(r.level, r.text, truncated)
	case wordResult:
		p.giveResult(r.text, truncated)
	case wordProgress:
		p.tellHowFar(r.text, truncated)
	case wordLock:
		p.askLocks(r.text)
	case wordStep:
		p.saveStep(r.text, truncated)
	case wordItems:
		p.count(r.n)
	case wordDB:
		if p.launcher.database == nil || !p.spec.DB {
			p.note(scheduler.LevelError, []byte("DB: is switched off"), false)
		} else if truncated {
			p.breakOff(scheduler.Account{Reason: "the agent said DB: with a statement of more than 1 MiB"})
		} else {
			p.queueAsk(clean(r.text))
		}
	case wordEcho:
		p.tell("", r.text, truncated)
	case wordDebug:
		p.tell("DEBUG "+string(p.child)+": ", r.text, truncated)
		p.note(scheduler.LevelDebug, r.text, truncated)
	}
}

// count adds to the items that the line in hand has come to.
func (p *Process) count(n int64) {
	p.mu.Lock()
	p.items += n
	of, items, single := p.hand.Claim, p.items, p.inHand && p.hand.Item == 0
	p.mu.Unlock()
	if single {
		p.launcher.progress(scheduler.Progress{Claim: of, Items: scheduler.Items{Total: -1, Done: items}})
	}
}

// isAbout: with no line in hand there is nothing to mistake it for.
func (p *Process) isAbout(a about) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.inHand || a.fits(p.hand.Claim) || p.turnTo(a)
}

// finish takes the agent's answer. What it wrote to stderr before is read
// first, so that it is kept against this line and not the next.
func (p *Process) finish(ok bool, code int, why scheduler.Account) {
	p.g.stderr.drain()
	p.said.over() // with the answer goes all that was said before
	p.mu.Lock()
	if !p.inHand {
		p.mu.Unlock()
		p.note(scheduler.LevelNote, []byte("an OK with no line outstanding was ignored"), false)
		return
	}
	p.hold = true
	if p.locks.failed == nil {
		p.answer(ok, code, 0, why)
	} else {
		p.answerFailed()
	}
	p.mu.Unlock() // settle goes on and wakes
}

// settle is called when all is heard that one read brought: an OK among it is
// no answer to a line that is only written now.
func (p *Process) settle() {
	p.said.flush()
	p.mu.Lock()
	defer p.release()
	p.hold = false
	p.proceedAsks()
	p.write()
}

// breakOff: the agent cannot be trusted any more; the reader of the event kills it.
func (p *Process) breakOff(why scheduler.Account) {
	p.broken = true
	p.mu.Lock()
	defer p.mu.Unlock() // settle wakes
	p.deaf = true
	p.outputClosed(why)
}

// outputClosed says so once. mu is held.
func (p *Process) outputClosed(why scheduler.Account) {
	if !p.mute && !p.exiting && !p.over {
		p.mute = true
		p.push(
			scheduler.ChildEvent{Kind: scheduler.EventOutputClosed, At: time.Now(), Error: why.Reason, Message: why.Message})
	}
}

// stdoutEnded: an agent that cannot answer is given no further line.
func (p *Process) stdoutEnded() {
	p.said.flush()
	p.mu.Lock()
	p.deaf = true
	p.release()
	doubt := closeDoubt
	if p.g.far != "" { // its end may be under way for longer
		doubt = farCloseDoubt
	}
	time.AfterFunc(doubt, func() {
		if p.g.agentDead() {
			return // its exit tells more, and is on its way
		}
		p.mu.Lock()
		defer p.release()
		p.outputClosed(scheduler.Account{Reason: "the agent closed its stdout"})
	})
}

// tell writes a line to the scheduler's stderr.
func (p *Process) tell(prefix string, text []byte, truncated bool) {
	b := append(append(p.telling[:0], prefix...), clean(text)...)
	if truncated {
		b = append(b, truncateMark...)
	}
	p.launcher.tell(append(b, '\n'))
	if p.telling = b; cap(b) > keepLine {
		p.telling = nil
	}
}

// attend waits for the end of the agent and tells it.
func (p *Process) attend(g *guarded) {
	e := g.wait()
	p.mu.Lock()
	p.exiting = true
	p.closeStdin()
	if p.stopStep != nil { // its reader waits for it
		p.stopStep()
	}
	p.mu.Unlock()
	g.streamsEnd()
	p.said.over()
	if p.database != nil { // its user has ended with the streams
		p.database.Close()
	}
	p.mu.Lock()
	defer p.release()
	last := p.obituary(e, e.String())
	if p.inHand && p.locks.failed != nil { // it was told that its line has failed: its death is of that
		p.answerFailed()
		last.Stop = scheduler.StopFailed
	}
	p.exited(last)
}
