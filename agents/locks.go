package agents

import (
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"time"

	"bellhop/scheduler"
)

// In the json dialect an agent asks for locks while it has a line, one request
// after the other:
//
//	{"lock":["db:orders=exclusive","db:logs=shared"]}       → {"granted":[…]}, when it has all
//	{"lock":{"any":2,"of":["node:a=exclusive",…]}}          → {"granted":[…]}, at once
//	{"unlock":["db:orders"]}                                → {"unlocked":[…]}
//
// What cannot be done is answered with {"refused":"why, and what to write"}, and
// changes nothing. {"failed":"why"} says that the attempt has failed: the agent
// is to end the line. If it has not after failPatience it is killed.

// failPatience is how long an agent may take to end a line that has failed.
const failPatience = 2 * time.Second

// askedLocks is what the agent of the line in hand has asked of locks; mu of its
// process is held.
type askedLocks struct {
	queue  []scheduler.LockAsk // the first of it is asked for
	asked  int                 // how many ever were: an answer to an older one is ignored
	any    bool                // some was for this line
	failed *scheduler.LockAnswer
}

// parseLocks reads a request. why says what is wrong with it; empty: nothing.
func parseLocks(line []byte) (ask scheduler.LockAsk, why string) {
	var m jsonMessage
	if json.Unmarshal(line, &m) != nil {
		return ask, "it is not valid JSON"
	}
	const example = `{"lock":["db:orders=exclusive"]}, {"lock":{"any":1,"of":["node:a=exclusive","node:b=exclusive"]}} ` +
		`or {"unlock":["db:orders"]}`
	var some struct {
		Any int      `json:"any"`
		Of  []string `json:"of"`
	}
	switch {
	case m.Lock != nil && m.Unlock != nil:
		return ask, "lock and unlock stand in one line; write two"
	case m.Unlock != nil:
		if json.Unmarshal(m.Unlock, &ask.Unlock) != nil || len(ask.Unlock) == 0 {
			return ask, "unlock is not a list of locks; write " + example
		}
	case json.Unmarshal(m.Lock, &ask.Locks) == nil:
		if len(ask.Locks) == 0 {
			return ask, "lock names none; write " + example
		}
	case json.Unmarshal(m.Lock, &some) == nil && some.Any > 0 && len(some.Of) > 0:
		ask.Any, ask.Locks = some.Any, some.Of
	default:
		return ask, "lock is neither a list of locks nor so many of some; write " + example
	}
	return ask, ""
}

// askLocks takes a request of the agent's.
func (p *Process) askLocks(line []byte) {
	ask, why := parseLocks(line)
	p.mu.Lock()
	switch {
	case !p.inHand:
		why = "there is no job that could hold a lock; ask when you have a line"
	case p.hand.Item != 0:
		why = "an item cannot ask for locks; let its query say by a column named locks which it needs"
	case p.batch > 1:
		why = "an agent that takes batches cannot ask for locks; let agents[].locks say which its jobs need"
	case len(p.locks.queue) >= maxAsks:
		why = fmt.Sprintf("%d requests wait for an answer; read the answers first", maxAsks)
	}
	if why != "" {
		p.replies = append(p.replies, lockReply(scheduler.LockAnswer{Refused: why}))
		p.reply()
		p.release()
		return
	}
	ask.Claim = p.hand.Claim
	p.locks.queue, p.locks.any = append(p.locks.queue, ask), true
	first := len(p.locks.queue) == 1
	p.mu.Unlock()
	if first {
		p.passOnLocks()
	}
}

// passOnLocks asks for what the first request says.
func (p *Process) passOnLocks() {
	p.mu.Lock()
	if len(p.locks.queue) == 0 || p.locks.failed != nil {
		p.mu.Unlock()
		return
	}
	ask := p.locks.queue[0]
	p.locks.asked++
	n := p.locks.asked
	p.mu.Unlock()
	p.launcher.locks(ask, func(a scheduler.LockAnswer) { p.locksAnswered(n, a) })
}

// locksAnswered tells the agent, unless its line is over.
func (p *Process) locksAnswered(n int, a scheduler.LockAnswer) {
	p.mu.Lock()
	if !p.inHand || p.locks.asked != n || len(p.locks.queue) == 0 {
		p.mu.Unlock()
		return
	}
	p.locks.queue = slices.Delete(p.locks.queue, 0, 1)
	if a.Failed != "" {
		p.failAttempt(a)
	} else {
		p.replies = append(p.replies, lockReply(a))
	}
	p.reply()
	p.release()
	p.passOnLocks()
}

// killFailed: the agent was told, and does not end the line.
func (p *Process) killFailed(n int) {
	p.mu.Lock()
	defer p.release()
	if p.inHand && p.locks.asked == n && p.locks.failed != nil && p.g != nil && !p.exiting {
		p.closing = true
		p.g.kill()
	}
}

// answerFailed ends the line in hand as the answer about its locks said, whatever
// the agent says of it. mu is held.
func (p *Process) answerFailed() {
	again := p.locks.failed.Again
	p.answer(false, 1, 0, scheduler.Account{Reason: p.locks.failed.Failed})
	p.events[len(p.events)-1].Again = again
}

// endLocks forgets what was asked for a line that is over. mu is held.
func (p *Process) endLocks() {
	p.locks.queue, p.locks.any, p.locks.failed, p.replies = nil, false, nil, nil
	p.locks.asked++
}

// lockReply is an answer as it is written.
func lockReply(a scheduler.LockAnswer) []byte {
	say := func(word string, v any) []byte {
		line, _ := json.Marshal(map[string]any{word: v}) // strings always can
		return append(line, '\n')
	}
	switch {
	case a.Failed != "":
		return say("failed", a.Failed)
	case a.Refused != "":
		return say("refused", a.Refused)
	case a.Unlocked != nil:
		return say("unlocked", a.Unlocked)
	}
	return say("granted", a.Granted)
}

// reply writes what there is to say about locks and steps, if the agent's stdin is free. mu is held.
func (p *Process) reply() {
	for len(p.replies) > 0 && !p.writing && !p.asking && !p.deaf && p.g != nil && !p.closing && !p.exiting {
		line := p.replies[0]
		p.launcher.wrote(line)
		n, err := syscall.Write(p.g.stdinFD, line)
		if err == syscall.EAGAIN || err == syscall.EINTR {
			n, err = 0, nil
		}
		if err != nil {
			p.deaf = true
			return
		}
		p.replies = p.replies[1:]
		if n < len(line) {
			p.writing = true
			p.g.readers.Add(1)
			go p.writeRest(line[n:])
		}
	}
}
