package agents

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"bellhop/scheduler"
)

// talk is one process of a FOSSology agent at work on one line: it carries out
// what its conversation decides.
type talk struct {
	p    *Process
	g    *guarded
	line scheduler.Line
	mail mailbox

	mu      sync.Mutex
	c       *conversation
	timer   *time.Timer
	killed  scheduler.Account // we have killed it, because
	refused bool              // and that was for what it is, not for what it did
	behind  bool              // namely of another version: its line was not given to it
	version string            // what it calls itself; empty: that is known to count
}

// talk does the line in hand with a process of its own, which is told it over
// stdin.
func (p *Process) talk() {
	t, err := p.startTalk()
	if err != nil {
		p.notRun(err)
		return
	}
	t.g.readers.Go(t.mail.deliver)
	t.g.read()
	t.arm()
	e := t.g.wait()
	p.mu.Lock()
	p.exiting = true // no signal is for this one any more
	p.closeStdinOf(t.g)
	p.mu.Unlock()
	t.mail.close()
	t.g.streamsEnd()
	t.end(e)
}

func (p *Process) startTalk() (*talk, error) {
	line, err := p.opened()
	if err != nil {
		return nil, err
	}
	data, err := encodeFOSSology(line, p.spec.FOSSology.Verbose)
	if err != nil {
		return nil, &commandError{why: err.Error(), code: refusedCode}
	}
	request, err := p.fossologyRequest(line)
	if err != nil {
		return nil, err
	}
	t := &talk{p: p, line: *line}
	_, err = p.runRequest(request, wires{stdin: true, oneStream: true}, func(g *guarded) {
		t.g = g
		t.c = newConversation(*p.spec.FOSSology, p.spec.StartTimeout, data, time.Now())
		t.mail = newMailbox(tappedWriter{g.stdin, p.launcher})
		g.stdout.hear, g.stdout.quiet, g.stdout.end = p.launcher.tapped(VoiceAgent, t.hear), t.quiet, t.quiet
	})
	return t, err
}

// hear takes one line of the agent's.
func (t *talk) hear(line []byte, truncated bool) {
	t.mu.Lock()
	d := t.c.hear(line, time.Now())
	items, refused := t.c.items, t.refused
	t.mu.Unlock()
	if refused { // what it says has no meaning any more
		return
	}
	if d.sooner {
		t.arm()
	}
	switch {
	case d.invalid:
		t.invalid(scheduler.Account{Reason: "its first line is not VERSION", Message: fmt.Sprintf("%q", clean(line))}, false)
	case d.greets:
		t.version = clean(d.version)
		why := t.p.launcher.versions.compare(t.p.spec.Type, t.p.host, t.version, time.Now())
		if why.Reason != "" {
			t.invalid(why, true)
			return
		}
	case d.ready && t.version != "":
		if was := t.p.launcher.versions.confirm(t.p.spec.Type, t.p.host, t.version, time.Now()); was != "" {
			t.p.said.keep(t.line.Claim, t.line.Attempt, scheduler.LevelNote, []byte("VERSION: "+t.version+" from now on, in place of "+was), false)
		}
		t.version = ""
	}
	if d.write != nil {
		t.mail.post(d.write, d.urgent)
	}
	if d.log != nil {
		if d.level != scheduler.LevelNote {
			t.p.said.remember(d.log)
		}
		t.p.said.keep(t.line.Claim, t.line.Attempt, d.level, d.log, truncated)
	}
	if d.items && t.line.Item == 0 {
		t.p.launcher.progress(scheduler.Progress{Claim: t.line.Claim, Items: scheduler.Items{Total: -1, Done: items}})
	}
}

// invalid: this is not the agent that it is taken for.
func (t *talk) invalid(why scheduler.Account, behind bool) {
	t.mu.Lock()
	t.behind = behind
	t.mu.Unlock()
	why.Reason = "invalid_agent: " + why.Reason
	if t.kill(why, true) {
		t.p.launcher.versions.invalid(t.p.spec.Type, t.p.host, why)
	}
}

// quiet is called when all is heard that one read brought. What is written is
// sent only now: a question about an attribute may stand behind the OK for
// which there is data, and its answer has to come before that.
func (t *talk) quiet() {
	t.p.said.flush()
	t.mail.send()
}

// arm keeps a timer for the next thing that time decides.
func (t *talk) arm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
	if t.killed.Reason == "" {
		t.timer = time.AfterFunc(time.Until(t.c.next()), t.tick)
	}
}

func (t *talk) tick() {
	t.mu.Lock()
	d := t.c.tick(time.Now())
	t.mu.Unlock()
	if d.kill != "" {
		t.kill(scheduler.Account{Reason: d.kill}, false)
		return
	}
	t.arm()
}

// kill ends the process; only the first reason counts.
func (t *talk) kill(why scheduler.Account, refused bool) (first bool) {
	t.mu.Lock()
	first = t.killed.Reason == ""
	if first {
		t.killed, t.refused = why, refused
	}
	t.mu.Unlock()
	if first {
		t.g.kill()
	}
	return first
}

// end says what became of the line, now that the process is dead.
func (t *talk) end(e end) {
	p := t.p
	t.mu.Lock()
	if t.timer != nil {
		t.timer.Stop()
	}
	killed, refused, behind, c := t.killed, t.refused, t.behind, *t.c
	if killed.Reason == "" {
		t.killed.Reason = "dead" // a tick on its way arms no other
	}
	t.mu.Unlock()
	p.said.over()
	p.mu.Lock()
	defer p.release()
	p.g, p.exiting = nil, false
	switch {
	case refused && behind: // another host, or this one's new program, does the line; the type rests here
		p.queue, p.head = append([]scheduler.Line{p.hand}, p.queue[p.head:]...), 0
		p.inHand = false
		p.exited(scheduler.ChildEvent{ExitCode: refusedCode, Error: killed.Reason, Message: killed.Message})
	case refused:
		p.answer(false, refusedCode, 0, killed)
	case c.bye && c.result == 0 && (!p.closing || c.oks >= 2):
		p.answer(true, 0, 0, scheduler.Account{}) // but a BYE 0 because its stdin was closed tells nothing about its data
	case c.bye && !p.closing:
		p.answer(false, c.exitCode(), 0, p.account(c.verdict()))
	case e.line != nil:
		p.exited(p.obituary(e, e.String())) // whatever it was about to say: its reader is gone
	case killed.Reason != "":
		p.exited(
			scheduler.ChildEvent{ExitCode: e.exitCode(), Signal: e.signal(), Error: killed.Reason, Message: p.said.words()})
	default: // it died, or we ended it
		how := "it left without BYE: " + e.String()
		if c.bye {
			how = c.verdict()
		}
		p.exited(p.obituary(e, how))
	}
}

// tappedWriter lets the tap hear what is written.
type tappedWriter struct {
	to       *os.File
	launcher *Launcher
}

func (w tappedWriter) Write(b []byte) (int, error) {
	w.launcher.wrote(b)
	return w.to.Write(b)
}

// mailbox writes to an agent's stdin, however slowly that reads, and blocks no caller. An answer goes ahead of data
// not yet begun.
type mailbox struct {
	to io.Writer

	mu     *sync.Mutex
	wake   *sync.Cond
	urgent [][]byte
	rest   [][]byte
	open   bool // send was called for what is there
	closed bool
}

func newMailbox(to io.Writer) mailbox {
	mu := &sync.Mutex{}
	return mailbox{to: to, mu: mu, wake: sync.NewCond(mu)}
}

func (m *mailbox) post(letter []byte, urgent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if urgent {
		m.urgent = append(m.urgent, letter)
	} else {
		m.rest = append(m.rest, letter)
	}
}

func (m *mailbox) send() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = len(m.urgent)+len(m.rest) > 0
	m.wake.Signal()
}

func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.wake.Signal()
}

// deliver writes until the mailbox is closed, or the agent no longer reads: what an agent that has gone did not
// read is not our error.
func (m *mailbox) deliver() {
	for {
		letter, ok := m.take()
		if !ok {
			return
		}
		if _, err := m.to.Write(letter); err != nil {
			return
		}
	}
}

func (m *mailbox) take() (letter []byte, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.closed && !m.open {
		m.wake.Wait()
	}
	if m.closed {
		return nil, false
	}
	if len(m.urgent) > 0 {
		letter, m.urgent = m.urgent[0], m.urgent[1:]
	} else {
		letter, m.rest = m.rest[0], m.rest[1:]
	}
	m.open = len(m.urgent)+len(m.rest) > 0
	return letter, true
}
