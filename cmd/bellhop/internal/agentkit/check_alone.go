package agentkit

import (
	"strings"
	"time"

	"bellhop/agents"
	"bellhop/scheduler"
)

func (k *kit) runExec() {
	c, err := k.start()
	if err != nil {
		k.judge("bad", "starts", "%s", err)
		return
	}
	defer func() { c.end() }()
	c.next(k.patience) // ready without a process
	checks := []struct {
		name string
		line scheduler.Line
		must bool
	}{{"no argument", scheduler.Line{}, false}}
	if k.given {
		checks = append(checks[:0], struct {
			name string
			line scheduler.Line
			must bool
		}{"the line", argument(k.line), true})
	}
	for _, odd := range k.oddLines() {
		checks = append(checks, struct {
			name string
			line scheduler.Line
			must bool
		}{odd.name, argument(odd.text), false})
	}
	for _, check := range checks {
		ev, came := c.do(check.line)
		switch {
		case !came:
			k.judge("bad", "ends: "+check.name, "not within %s; it has no stdin to wait for", k.patience)
			c.end()
			if c, err = k.start(); err != nil {
				k.judge("bad", "starts, again", "%s", err)
				return
			}
			c.next(k.patience)
		case ev.Kind == scheduler.EventAnswered && ev.OK:
			k.done++
			k.judge("ok", "ends: "+check.name, "exit code 0")
		case ev.ExitCode == 126 || ev.ExitCode == 127:
			k.judge("bad", "ends: "+check.name, "%s", ev.Told())
		case check.must:
			k.judge("bad", "ends: "+check.name, "exit code %d: %s", ev.ExitCode, ev.Told())
		default:
			k.judge("ok", "ends: "+check.name, "exit code %d, which fails the job: %s", ev.ExitCode, ev.Told())
		}
	}
	if k.done == 0 {
		k.judge("odd", "does anything at all", "every run failed; name an argument that it can process with --line")
	}
}

// runFOSSology is the start-up test of FOSSology's own scheduler, twice, and a
// job where there is a line for it.
func (k *kit) runFOSSology() {
	c, err := k.start()
	if err != nil {
		k.judge("bad", "starts", "%s", err)
		return
	}
	defer func() { c.end() }()
	c.next(k.patience) // ready without a process
	try := func(check string, l scheduler.Line) bool {
		ev, came := c.do(l)
		switch {
		case !came:
			k.judge("bad", check, "no BYE within %s", k.patience)
		case ev.Kind == scheduler.EventAnswered && ev.OK:
			k.judge("ok", check, "")
			return true
		case ev.Kind == scheduler.EventAnswered && !strings.HasPrefix(ev.Error, "invalid_agent"):
			k.judge("bad", check, "exit code %d: %s", ev.ExitCode, ev.Told())
			return true
		default:
			k.judge("bad", check, "%s", ev.Told())
		}
		return false
	}
	if !try("start-up test: VERSION, OK, BYE 0", scheduler.Line{}) || !try("the same version again", scheduler.Line{}) {
		return
	}
	if k.given && !try("does a line and says BYE 0", argument(k.line)) {
		return
	}
	_, since := k.lines(agents.VoiceAgent, 0)
	began := time.Now()
	k.jobs++
	l := argument("0")
	if k.given {
		l = argument(k.line)
	}
	l.Claim, l.Attempt = scheduler.Claim{Job: scheduler.JobID(k.jobs), Fence: 1}, 1
	c.Feed([]scheduler.Line{l})
	for deadline := time.Now().Add(k.patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if said, _ := k.lines(agents.VoiceAgent, since); len(said) > 0 { // it is up
			break
		}
	}
	c.CloseInput()
	if _, came := c.next(k.patience); came {
		k.judge("ok", "leaves when its stdin is closed", "after %d ms", time.Since(began).Milliseconds())
	} else {
		k.judge("bad", "leaves when its stdin is closed", "it still runs after %s; it would be killed after limits.kill_after", k.patience)
	}
}
