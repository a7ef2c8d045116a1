package agents

import (
	"errors"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// startRuns sees to it that a goroutine works the queue off, one process after
// the other. mu is held.
func (p *Process) startRuns() {
	if !p.running && !p.closing && p.head < len(p.queue) {
		p.running = true
		go p.runAll()
	}
}

func (p *Process) runAll() {
	for p.takeLine() {
		if p.spec.Dialect == DialectFOSSology {
			p.talk()
		} else {
			p.run()
		}
	}
}

// takeLine puts the next line in hand; false ends the goroutine.
func (p *Process) takeLine() bool {
	p.mu.Lock()
	defer p.release()
	if !p.over && !p.closing && p.head < len(p.queue) {
		p.hand, p.inHand = p.queue[p.head], true
		p.pop()
		return true
	}
	p.running = false
	if p.closing && !p.over {
		p.exited(scheduler.ChildEvent{})
	}
	return false
}

// run does the line in hand with a process of its own.
func (p *Process) run() {
	var out gathered
	out.most = p.launcher.result
	g, log, err := p.startRun(&out)
	defer log.close()
	if err != nil {
		p.notRun(err)
		return
	}
	g.read()
	e := g.wait()
	p.mu.Lock()
	p.exiting = true // no signal is for this one any more
	p.mu.Unlock()
	g.streamsEnd()
	p.said.over()
	p.mu.Lock()
	defer p.release()
	p.g, p.exiting = nil, false
	ok := e.exitCode() == 0 && p.gives.fails == ""
	if as := p.spec.Ends.Answer(e.exitCode(), p.gives.answer); as != nil && p.gives.fails == "" && e.signal() == 0 {
		ok, p.gives.answer = true, as
	}
	if e.lost || e.line != nil || e.reason != 0 || p.closing && !ok { // not the agent's doing, so no answer
		p.exited(p.obituary(e, e.String()))
		return
	}
	how, code := scheduler.Account{}, e.exitCode()
	switch {
	case p.gives.fails != "":
		how, code = scheduler.Account{Reason: scheduler.SaidFailed, Message: p.gives.fails}, max(code, 1)
	case !ok:
		how = p.account(e.String())
	case p.spec.Stdout == StdoutResult:
		p.give().Result, p.gives.refused = out.result()
	}
	p.answer(ok, code, e.signal(), how)
}

// startRun starts the process of the line in hand.
func (p *Process) startRun(out *gathered) (*guarded, *runLog, error) {
	var log *runLog
	request := guard.Request{}
	line, err := p.opened()
	switch {
	case err != nil:
	case p.spec.Attached:
		request, log, err = p.attached(line)
	default:
		request, err = p.execRequest(line)
	}
	if err != nil {
		return nil, nil, err
	}
	var ended atomic.Int32
	g, err := p.runRequest(request, wires{}, func(g *guarded) {
		g.stdout.hear = p.launcher.tapped(VoiceAgent, func(text []byte, truncated bool) {
			log.keep(text)
			p.hearStdout(out, text, truncated)
		})
		g.stderr.hear = p.launcher.tapped(VoiceStderr, func(text []byte, truncated bool) {
			log.keep(text)
			p.hearStderr(text, truncated)
		})
		for _, s := range []*stream{&g.stdout, &g.stderr} {
			s.quiet, s.end = p.said.flush, func() {
				p.said.flush()
				if ended.Add(1) == 2 {
					g.doubt()
				}
			}
		}
	})
	return g, log, err
}

func (p *Process) inHandNow() scheduler.Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hand
}

// opened is the line in hand as its process gets it; what is kept of it here stays sealed.
func (p *Process) opened() (*scheduler.Line, error) {
	line := p.inHandNow()
	return p.launcher.open(p.spec.Type, &line)
}

func (p *Process) execRequest(line *scheduler.Line) (guard.Request, error) {
	vars, err := allowedVars(p.spec.Vars, line.Vars)
	if err != nil {
		return guard.Request{}, &commandError{why: err.Error(), code: refusedCode}
	}
	var args []string
	if line.HasArgs {
		args = []string{line.Args}
	}
	return p.launcher.request(p.host, p.spec, args, bellhopEnvironment(vars, line))
}

// lateStart is how much longer than its lease a guard may let an agent live, since
// it counts that from when it starts the agent.
const lateStart = 10 * time.Millisecond

// runRequest starts the process of the line in hand; hook sees it before any other code. An order that came while
// it started is carried out now.
func (p *Process) runRequest(request guard.Request, w wires, hook func(*guarded)) (*guarded, error) {
	p.said.forget()
	asked := time.Now()
	g, err := p.begin(request, w)
	if err != nil {
		return nil, err
	}
	hook(g)
	left := p.leaseLeft()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.g = g
	if left < 0 {
		left = time.Millisecond // the guard ends it, and says why: it is not the agent's fault
	}
	if p.leaseFrom.After(asked) || time.Since(asked) > lateStart {
		g.lease(left) // one that came while it started; or it counts what it has from later on
	}
	switch {
	case p.killed:
		g.kill()
	case p.closing:
		p.closeStdin()
		g.hangup()
	}
	return g, nil
}

// notRun: a line that can never run fails with a shell's code for it. A
// machine that has no room for a process just now is not the line's fault: it
// stays for Recall, and the child ends.
func (p *Process) notRun(err error) {
	p.mu.Lock()
	defer p.release()
	var command *commandError
	var sealed *scheduler.SealedError
	switch {
	case errors.Is(err, errArgsTooLong), errors.As(err, &sealed):
		p.refuseHand(err, refusedCode)
	case errors.As(err, &command):
		p.refuseHand(err, command.code)
	case errors.Is(err, scheduler.ErrUnguarded): // it may have begun, and killed it
		p.exited(scheduler.ChildEvent{ExitCode: 128 + int(syscall.SIGKILL), Signal: int(syscall.SIGKILL), Error: err.Error(),
			Stop: scheduler.StopUnguarded, Guards: p.unguarded(0)})
	default:
		line := p.hand
		p.inHand = false
		p.queue = append([]scheduler.Line{line}, p.queue[p.head:]...)
		p.head = 0
		ev := scheduler.ChildEvent{ExitCode: refusedCode, Error: err.Error()}
		ev.Stop = orderOf(err)
		p.exited(ev)
	}
}

// orderOf: what kept a process from starting, where that was not the agent.
func orderOf(err error) scheduler.StopReason {
	var line *LineError
	switch {
	case errors.Is(err, scheduler.ErrLeaseOver):
		return scheduler.StopFenced
	case errors.Is(err, scheduler.ErrUnguarded):
		return scheduler.StopUnguarded
	case errors.As(err, &line):
		return scheduler.StopUnreached
	}
	return scheduler.StopNone
}

// bellhopEnvironment is what a line adds to the environment; bellhop's own
// names come last, so no variable can pass for them.
func bellhopEnvironment(vars map[string]string, l *scheduler.Line) []string {
	env := make([]string, 0, len(vars)+5)
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	return append(env,
		"BELLHOP_JOB_ID="+strconv.FormatInt(int64(l.Job), 10),
		"BELLHOP_KEY="+l.Key,
		"BELLHOP_ATTEMPT="+strconv.Itoa(l.Attempt),
		"BELLHOP_FENCE="+strconv.FormatInt(int64(l.Fence), 10),
		"TRACEPARENT="+l.Trace)
}
