package agents

import (
	"bytes"
	"encoding/json"
	"regexp"

	"bellhop/scheduler"
)

// Stdout says what the stdout of an agent of mode exec is, besides lines that are
// kept with the job.
type Stdout string

const (
	StdoutLog    Stdout = "log"    // nothing else
	StdoutResult Stdout = "result" // all of it is what the job gives back: JSON, or else text
	StdoutJSON   Stdout = "json"   // a line of it that is a message of the json dialect is obeyed
)

// gathered is the stdout of one run. Its reader owns it until the run is over.
type gathered struct {
	most int
	text []byte
	n    int // bytes in all; more than most: they are not kept
}

func (g *gathered) add(line []byte, truncated bool) {
	if g.n += len(line) + 1; truncated {
		g.n += g.most
	}
	if g.n <= g.most+1 {
		g.text = append(append(g.text, line...), '\n')
	}
}

// result is what was gathered as JSON: itself, where it is such, or a string. Nothing is nothing.
func (g *gathered) result() (text []byte, why string) {
	if g.n-1 > g.most {
		return nil, scheduler.TooLong(g.n-1, g.most)
	}
	said := bytes.TrimSuffix(g.text, []byte{'\n'})
	switch {
	case len(bytes.TrimSpace(said)) == 0:
		return nil, ""
	case json.Valid(said):
		return scheduler.ReadResult(said, g.most)
	}
	quoted, err := json.Marshal(clean(said))
	if err != nil { // a string always can
		return nil, ""
	}
	return scheduler.ReadResult(quoted, 6*g.most+2)
}

// hearStdout is what one run of an exec agent says on stdout.
func (p *Process) hearStdout(g *gathered, line []byte, truncated bool) {
	switch p.spec.Stdout {
	case StdoutResult:
		g.add(line, truncated)
	case StdoutJSON:
		if startsResult(line, truncated) {
			p.giveResult(line, true)
			return
		}
		p.remarks = parseJSON(line, p.remarks[:0])
		for _, r := range p.remarks {
			p.actRun(r, truncated)
		}
		return
	}
	p.note(scheduler.LevelOut, line, truncated)
}

// actRun is act for an agent of mode exec: how its line went, its exit code says.
func (p *Process) actRun(r remark, truncated bool) {
	switch r.word {
	case wordOK:
		p.wishes(r.wish)
	case wordFail:
		p.wishes(r.wish)
		p.mu.Lock()
		if p.gives.fails == "" {
			p.gives.fails = clean(r.text)
		}
		p.mu.Unlock()
	case wordLock:
		p.note(scheduler.LevelError, []byte("an agent of mode exec cannot ask for locks while it runs: it cannot be answered"), false)
	case wordStep:
		p.note(scheduler.LevelError, []byte("an agent of mode exec cannot save a step so: it cannot be answered; "+
			"call bellhop.save_step (docs/steps.md)"), false)
	case wordDebug:
		p.note(scheduler.LevelOut, r.text, truncated)
	default:
		p.act(r, truncated)
	}
}

// resultBegins is how a line begins that gives something back.
var resultBegins = regexp.MustCompile(`^\s*\{\s*"result"`)

// startsResult finds a result that was cut: it is too long, and not just any words.
func startsResult(line []byte, truncated bool) bool {
	return truncated && resultBegins.Match(line[:min(len(line), 100)])
}
