package agents

import (
	"fmt"
	"strconv"
	"time"

	"bellhop/scheduler"
)

// conversation is what is known of one talk with a FOSSology agent. It decides
// and does nothing: the time is an argument, and what is to be done comes back.
type conversation struct {
	rules   FOSSology
	start   time.Duration // spawn → first OK; 0: no limit
	data    []byte        // what the first OK is answered with
	greeted bool
	oks     int
	bye     bool
	result  int64
	special int64
	items   int64 // as its last HEART said

	began   time.Time // never zero: a process is not silent since the year one
	heard   time.Time // its last line
	byeAt   time.Time
	checked time.Time // the last look at ALIVE
	beats   bool      // a HEART came since then,
	alive   bool      // and one of them said that it gets on
	dead    int       // looks in a row that found it not to
}

func newConversation(f FOSSology, start time.Duration, data []byte, now time.Time) *conversation {
	return &conversation{rules: f, start: start, data: data, began: now, heard: now, checked: now}
}

// effect is what follows from a line, or from the time.
type effect struct {
	write  []byte // to its stdin
	urgent bool   // ahead of what else is to be written
	log    []byte // at level
	level  scheduler.Level
	items  bool   // c.items has changed
	sooner bool   // next has changed
	kill   string // it is to die, because
	// version is to be compared with what others of its type said; invalid is
	// a first line that is none.
	version []byte
	greets  bool
	invalid bool
	ready   bool // its first OK
}

// hear takes one line.
func (c *conversation) hear(line []byte, now time.Time) effect {
	s := parseFOSSology(line)
	if s.what == saysNothing {
		return effect{}
	}
	c.heard = now
	if !c.greeted {
		if s.what != saysVersion {
			return effect{invalid: true, log: line, level: scheduler.LevelError}
		}
		c.greeted = true
		return effect{greets: true, version: s.text}
	}
	if c.bye { // it has said its last word; the rest is for the log
		return effect{log: line, level: scheduler.LevelOut}
	}
	switch s.what {
	case saysOK:
		return c.answer()
	case saysHeart:
		changed := s.n != c.items
		c.items, c.beats, c.alive = s.n, true, c.alive || s.on
		return effect{items: changed}
	case saysBye:
		c.bye, c.result, c.byeAt = true, s.n, now
		return effect{sooner: true}
	case saysSpecial:
		if c.special &^= s.n; s.on {
			c.special |= s.n
		}
		return effect{sooner: true} // NOKILL taken back: its silence counts again
	case saysGetSpecial:
		value := byte('0')
		if c.special&s.n != 0 {
			value = '1'
		}
		return effect{write: []byte("VALUE: " + string(value) + "\n"), urgent: true}
	case saysEmail:
		if !c.rules.NoEmail && c.special&specialNoEmail == 0 {
			return effect{log: append([]byte("EMAIL "), s.text...), level: scheduler.LevelNote}
		}
	default:
		return effect{log: line, level: levelOr(s.level, scheduler.LevelOut)}
	}
	return effect{}
}

func levelOr(l, other scheduler.Level) scheduler.Level {
	if l == "" {
		return other
	}
	return l
}

// answer is what an OK is answered with: the first with the data, the second
// with CLOSE. Later ones were not asked for.
func (c *conversation) answer() effect {
	c.oks++
	switch {
	case c.oks == 1:
		if string(c.data) == closeWord {
			c.oks = 2
		}
		return effect{write: c.data, ready: true}
	case c.oks == 2:
		return effect{write: []byte(closeWord)}
	}
	return effect{}
}

const closeWord = "CLOSE\n"

// next is when tick has something to say, unless a line comes before.
func (c *conversation) next() time.Time {
	if c.bye {
		return c.byeAt.Add(c.rules.ByeGrace)
	}
	at := c.checked.Add(c.rules.Check)
	if t := c.heard.Add(c.rules.Silence); t.Before(at) && !c.spared() {
		at = t
	}
	if c.oks == 0 && c.start > 0 {
		if t := c.began.Add(c.start); t.Before(at) {
			at = t
		}
	}
	return at
}

// spared: the agent's spec, or the agent itself, has asked for no kills.
func (c *conversation) spared() bool { return c.rules.NoKill || c.special&specialNoKill != 0 }

// tick looks at the time.
func (c *conversation) tick(now time.Time) effect {
	if c.bye {
		if due(c.byeAt.Add(c.rules.ByeGrace), now) {
			return effect{kill: "still there " + c.rules.ByeGrace.String() + " after BYE"}
		}
		return effect{}
	}
	if c.oks == 0 && c.start > 0 && due(c.began.Add(c.start), now) {
		return effect{kill: "no OK within " + c.start.String()}
	}
	if due(c.checked.Add(c.rules.Check), now) {
		c.checked = now
		switch {
		case c.alive:
			c.dead = 0
		case c.beats:
			c.dead++
		}
		c.beats, c.alive = false, false
	}
	switch {
	case c.spared():
	case c.dead >= c.rules.Checks:
		return effect{kill: fmt.Sprintf("no_heartbeat: it said ALIVE 0 for %d looks, %s apart", c.dead, c.rules.Check)}
	case due(c.heard.Add(c.rules.Silence), now):
		return effect{kill: "no_heartbeat: not a line for " + c.rules.Silence.String()}
	}
	return effect{}
}

func due(at, now time.Time) bool { return !now.Before(at) }

// exitCode is BYE's number as an exit code: 0 for 0 alone.
func (c *conversation) exitCode() int {
	if code := int(c.result & 0xff); code != 0 || c.result == 0 {
		return code
	}
	return 1
}

func (c *conversation) verdict() string {
	return "the agent said BYE " + strconv.FormatInt(c.result, 10)
}
