package agents

import (
	"bytes"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"bellhop/scheduler"
)

const (
	maxLogBytes  = 512 << 10 // of an attempt's begin, and as many of its end
	maxLogLines  = 5_000     // the same
	lastWords    = 20        // stderr lines kept for the obituary
	maxLastWord  = 500       // bytes of each
	logBatch     = 256       // lines handed over at once, at most
	truncateMark = " [line cut at 1 MiB]"
)

// output is what is kept of what a child says: log lines, bounded for each
// attempt, and the last words of the line in hand.
type output struct {
	log   func([]scheduler.Entry)
	child scheduler.ChildName
	host  scheduler.HostName

	mu      sync.Mutex
	of      scheduler.Claim // the attempt that the counts below are of
	attempt int
	lines   int
	bytes   int
	tail    logTail
	batch   []scheduler.Entry
	last    []string // a ring once it is full
	next    int
}

// keep notes one line for the log, against the attempt in hand.
func (o *output) keep(of scheduler.Claim, attempt int, level scheduler.Level, text []byte, truncated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if of != o.of || attempt != o.attempt {
		o.endTail()
		o.of, o.attempt, o.lines, o.bytes = of, attempt, 0, 0
	}
	s := clean(text)
	if truncated {
		s += truncateMark
	}
	o.lines++
	o.bytes += len(text)
	if o.lines <= maxLogLines && o.bytes <= maxLogBytes {
		o.append(level, s)
		return
	}
	if o.bytes <= maxLogBytes {
		o.bytes = maxLogBytes + 1 // a short line after this one is of the end too
	}
	o.tail.add(o.entry(level, s))
}

// endTail hands over the end of what was said in an attempt, after a word on
// what is left out before it.
func (o *output) endTail() {
	if note := o.tail.leftOut(); note != "" {
		o.append(scheduler.LevelNote, note)
	}
	for _, e := range o.tail.take() {
		o.batch = append(o.batch, e)
		if len(o.batch) >= logBatch {
			o.handOver()
		}
	}
}

// over is called when an attempt is: before its outcome is told.
func (o *output) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endTail()
	o.handOver()
}

func (o *output) entry(level scheduler.Level, text string) scheduler.Entry {
	return scheduler.Entry{Claim: o.of, Attempt: o.attempt, Child: o.child, Host: o.host,
		Level: level, At: time.Now(), Text: text}
}

func (o *output) append(level scheduler.Level, text string) {
	o.batch = append(o.batch, o.entry(level, text))
	if len(o.batch) >= logBatch {
		o.handOver()
	}
}

// flush hands over what was kept since the last time.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handOver()
}

// handOver calls log under the lock: so batches stay in order.
func (o *output) handOver() {
	if len(o.batch) > 0 {
		o.log(o.batch)
		o.batch = nil
	}
}

// remember keeps a stderr line for the obituary.
func (o *output) remember(text []byte) {
	s := clean(text[:min(len(text), maxLastWord)])
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.last) < lastWords {
		o.last = append(o.last, s)
		return
	}
	o.last[o.next] = s
	o.next = (o.next + 1) % lastWords
}

// forget is called before each line is handed over, so that what was said of one job never stands in the outcome of
// another: the next may be another submitter's.
func (o *output) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last, o.next = nil, 0
}

// words are the last words since the line in hand was handed over; before the
// first one, since the start.
func (o *output) words() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	message := strings.Join(o.last[o.next:], "\n")
	if o.next > 0 {
		message += "\n" + strings.Join(o.last[:o.next], "\n")
	}
	return message
}

// clean makes text that PostgreSQL and JSON take: what is no UTF-8, and the
// zero byte, become U+FFFD.
func clean(text []byte) string {
	if utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
		return string(text)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\x00", "\uFFFD")
}
