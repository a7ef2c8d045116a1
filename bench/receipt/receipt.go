// Package receipt is shared by all that do a benchmark's work: agents, and the handlers that run inside a
// yardstick. A line is "NAME" or "NAME DURATION"; the duration is slept. When a line came is noted only for names
// that begin with t, as one JSON line each, so that unread notes cost nothing. How many lines came is counted in
// memory that outlives the counting process, SIGKILL included.
package receipt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Desk notes and counts lines. Its methods may be called from several goroutines.
type Desk struct {
	seen  *os.File
	count *atomic.Int64
}

// Monotonic is the clock that all processes of a machine share, in ns.
func Monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // there is no Linux without it
	}
	return t.Nano()
}

// Open makes a desk in dir, which holds the notes and counts of one
// measurement. Empty: nothing is noted.
func Open(dir string) (*Desk, error) {
	d := &Desk{count: new(atomic.Int64)}
	if dir == "" {
		return d, nil
	}
	seen, err := os.OpenFile(filepath.Join(dir, "seen"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	tally, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("count.%d", os.Getpid())), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tally.Close() }() // the mapping stays
	if err := tally.Truncate(8); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(tally.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	d.seen, d.count = seen, (*atomic.Int64)(unsafe.Pointer(&memory[0]))
	return d, nil
}

// Take is called with a line as soon as it is there, and gives how long the
// work on it takes.
func (d *Desk) Take(line []byte) (work time.Duration, err error) {
	d.count.Add(1)
	if len(line) == 0 || line[0] != 't' && line[0] != 'h' {
		return 0, nil
	}
	name, rest, slow := bytes.Cut(line, []byte{' '})
	if d.seen != nil && name[0] == 't' {
		note := append(append([]byte(`{"line":"`), name...), `","at":`...)
		note = append(strconv.AppendInt(note, Monotonic(), 10), "}\n"...)
		if _, err := d.seen.Write(note); err != nil {
			return 0, err
		}
	}
	if slow {
		return time.ParseDuration(string(rest))
	}
	return 0, nil
}

// Read gives when each line came. A line that came twice is an error.
func Read(dir string) (map[string]int64, error) {
	text, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	got := map[string]int64{}
	for row := range strings.Lines(string(text)) {
		if !strings.HasSuffix(row, "\n") {
			break // still being written
		}
		var note struct {
			Line string
			At   int64
		}
		if err := json.Unmarshal([]byte(row), &note); err != nil {
			return nil, fmt.Errorf("a note of an agent is broken: %w", err)
		}
		if _, again := got[note.Line]; again {
			return nil, fmt.Errorf("line %s reached an agent twice", note.Line)
		}
		got[note.Line] = note.At
	}
	return got, nil
}

// Notes is how many lines were noted so far.
func Notes(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	return bytes.Count(text, []byte{'\n'}), nil
}

// Total is how many lines came in all.
func Total(dir string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(dir, "count.*"))
	if err != nil {
		return 0, err
	}
	var total int64
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		if len(b) == 8 {
			total += *(*int64)(unsafe.Pointer(&b[0]))
		}
	}
	return total, nil
}
