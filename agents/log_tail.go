package agents

import (
	"fmt"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
)

// logTail keeps the end of what is said in an attempt, when its begin is kept
// already: why a run failed most often stands there.
type logTail struct {
	entries []scheduler.Entry // from first on; what is before is free
	first   int
	bytes   int
	dropped int // lines that had to make room
}

func (t *logTail) add(e scheduler.Entry) {
	t.entries = append(t.entries, e)
	t.bytes += len(e.Text)
	for len(t.entries)-t.first > maxLogLines || t.bytes > maxLogBytes && len(t.entries)-t.first > 1 {
		t.bytes -= len(t.entries[t.first].Text)
		t.entries[t.first] = scheduler.Entry{}
		t.first++
		t.dropped++
	}
	if t.first > maxLogLines { // half of it is free
		n := copy(t.entries, t.entries[t.first:])
		clear(t.entries[n:])
		t.entries, t.first = t.entries[:n], 0
	}
}

// leftOut says what is missing before the end; empty: nothing is.
func (t *logTail) leftOut() string {
	if t.dropped == 0 {
		return ""
	}
	return fmt.Sprintf(scheduler.Truncated+"%s left out here; the first and the last %d lines, or %d KiB, of an attempt are kept",
		words.Count(t.dropped, "line"), maxLogLines, maxLogBytes>>10)
}

// take gives what is kept, and forgets it.
func (t *logTail) take() []scheduler.Entry {
	list := t.entries[t.first:]
	*t = logTail{}
	return list
}
