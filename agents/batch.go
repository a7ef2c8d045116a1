package agents

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"bellhop/scheduler"
)

// An agent of the json dialect may take several jobs at once: its first line says {"bellhop":1,"batch":100}. Then each
// of its lines is {"batch":[JOB,…]}, with up to so many jobs as wait for it, and it answers each by its id, in any
// order: {"id":7,"ok":true}. The next batch comes after the last answer.

// maxBatch is how many jobs an agent may take at once.
const maxBatch = 1000

// held is a job of a batch that is in the agent's hands, and what was said about it.
type held struct {
	line      scheduler.Line
	successes int
	gives     given
}

// next is the next line as it is written, and of how many jobs it is; 0: the first one cannot be written, and has
// failed. mu is held.
func (p *Process) next() (bytes []byte, jobs int) {
	if p.batch > 0 { // a list also of one: the agent has said that it reads lists
		return p.nextBatch()
	}
	bytes, err := p.encode(&p.queue[p.head])
	if err != nil {
		p.refuse(err)
		return nil, 0
	}
	return bytes, 1
}

// nextBatch takes an item of a query alone, since the items of a job share its id, and so a job that agents have died
// of: others are not to die with it.
func (p *Process) nextBatch() ([]byte, int) {
	out, n := []byte(`{"batch":[`), 0
	for _, line := range p.queue[p.head:min(len(p.queue), p.head+p.batch)] {
		alone := line.Item != 0 || line.Deaths > 0
		if alone && n > 0 {
			break
		}
		one, err := p.encode(&line)
		if err != nil && n == 0 {
			p.refuse(err)
			return nil, 0
		} else if err != nil { // it is the first of the next
			break
		}
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, bytes.TrimSuffix(one, []byte("\n"))...)
		if n++; alone {
			break
		}
	}
	return append(out, "]}\n"...), n
}

// refuse fails the first line, which cannot be written. mu is held.
func (p *Process) refuse(err error) {
	p.hand = p.queue[p.head]
	p.pop()
	p.refuseHand(err, refusedCode)
}

// refuseHand says that the line in hand was not given to an agent. mu is held.
func (p *Process) refuseHand(err error, code int) {
	var sealed *scheduler.SealedError
	if !errors.As(err, &sealed) {
		p.answer(false, code, 0, scheduler.Account{Reason: err.Error()})
		return
	}
	said := sealed.Refused(&p.hand, code, time.Now())
	p.gives.answer = said.Answer
	p.answer(false, code, 0, scheduler.Account{Reason: said.Error})
	p.events[len(p.events)-1].Again = said.Again
}

// take puts the first jobs of the queue into the agent's hands. mu is held.
func (p *Process) take(jobs int) {
	if p.batch > 1 {
		batch := append([]scheduler.Line(nil), p.queue[p.head:p.head+jobs]...)
		p.push(scheduler.ChildEvent{Kind: scheduler.EventBegan, At: time.Now(), Lines: batch})
		for i := 1; i < jobs; i++ {
			p.rest = append(p.rest, held{line: batch[i]})
		}
	}
	p.hand, p.inHand = p.queue[p.head], true
	for range jobs {
		p.pop()
	}
}

// turnTo makes another job of the batch the one in hand: what the agent says now is about it. false: there is none. mu
// is held.
func (p *Process) turnTo(a about) bool {
	for i := range p.rest {
		if h := &p.rest[i]; a.fits(h.line.Claim) {
			now := held{p.hand, p.successes, p.gives}
			p.hand, p.successes, p.gives = h.line, h.successes, h.gives
			*h = now
			return true
		}
	}
	return false
}

// another takes the next job of the batch in hand, when one is answered. mu is held.
func (p *Process) another() {
	if len(p.rest) == 0 {
		return
	}
	h := p.rest[0]
	p.hand, p.successes, p.gives, p.inHand = h.line, h.successes, h.gives, true
	if p.rest = p.rest[1:]; len(p.rest) == 0 {
		p.rest = nil
	}
}

// unclear says what is wrong with words about one of several jobs; empty: nothing.
func (p *Process) unclear(r remark) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(p.rest) == 0 || r.about.job != nil:
		return ""
	case r.word == wordOK, r.word == wordFail, r.word == wordResult, r.word == wordProgress, r.word == wordSuccess:
		return fmt.Sprintf("the agent has %d jobs of a batch, and did not say which it means; write {\"id\":%d,\"ok\":true}",
			len(p.rest)+1, p.hand.Job)
	}
	return ""
}
