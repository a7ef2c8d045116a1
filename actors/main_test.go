package actors_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agents/guard"
	"bellhop/pgdev/pgtest"
)

// TestMain: the test binary is also the guard (in the init of package guard)
// and, when its environment says so, an agent.
func TestMain(m *testing.M) {
	if dir := os.Getenv("BELLHOP_TEST_JOURNAL"); dir != "" {
		beAgent(dir)
		return
	}
	os.Exit(pgtest.Main(m))
}

// beAgent works for as long as each line says, and keeps a journal of it. A
// lock for each piece of work, which the kernel takes away at its death, tells
// whether another process has the same piece in hand.
func beAgent(dir string) {
	open := func(name string, flags int) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|flags, 0o644)
		if err != nil {
			fmt.Println(err) // no greeting: so it is no agent
			os.Exit(1)
		}
		return f
	}
	book, locks := open("book", os.O_WRONLY|os.O_APPEND), open("locks", os.O_RDWR)
	self, _ := guard.ReadStat(os.Getpid())
	note := func(what string, w work) {
		fmt.Fprintf(book, "%s %s %d %d\n", what, w.key(), os.Getpid(), self.Start)
	}
	note("up", work{})
	fmt.Println(`{"bellhop":1}`)
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var w work
		if err := json.Unmarshal(line, &w); err != nil {
			os.Exit(1)
		}
		lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: w.place(), Len: 1}
		what := "start"
		if syscall.FcntlFlock(locks.Fd(), syscall.F_SETLK, &lock) != nil {
			what = "overlap"
		}
		note(what, w)
		pause, err := time.ParseDuration(w.Args)
		if err != nil { // an item
			pause = 3 * time.Millisecond
		}
		time.Sleep(pause) // this is the work
		note("end", w)
		lock.Type = syscall.F_UNLCK
		_ = syscall.FcntlFlock(locks.Fd(), syscall.F_SETLK, &lock)
		fmt.Println(`{"ok":true}`)
	}
}

// work is a job or an item as an agent of the json dialect gets it.
type work struct {
	ID   int64
	Args string
	Item struct{ G string }
}

func (w work) key() string {
	if w.Item.G != "" {
		return fmt.Sprintf("%d/%s", w.ID, w.Item.G)
	}
	return strconv.FormatInt(w.ID, 10)
}

func (w work) place() int64 {
	item, _ := strconv.ParseInt(w.Item.G, 10, 64)
	return w.ID<<20 + item
}

// entry is one line of the journal.
type entry struct {
	what, key string
	by        process
}

// process is one for good: a busy machine gives a pid to somebody else within
// seconds.
type process struct {
	pid   int
	start uint64
}

// dead reports whether the process has ended.
func (p process) dead() bool {
	now, there := guard.ReadStat(p.pid)
	return !there || now.Start != p.start || now.Dead()
}

// journal is what the agents of one type have written: that they came up, and
// what they began and ended.
type journal struct {
	t   testing.TB
	dir string
}

func newJournal(t testing.TB) *journal { return &journal{t, t.TempDir()} }

func (j *journal) env() map[string]string { return map[string]string{"BELLHOP_TEST_JOURNAL": j.dir} }

// read lists what was begun and ended, in order.
func (j *journal) read() (list []entry) {
	j.t.Helper()
	for _, e := range j.lines() {
		if e.what != "up" {
			list = append(list, e)
		}
	}
	return list
}

// processes lists those that ever came up.
func (j *journal) processes() map[process]bool {
	j.t.Helper()
	set := map[process]bool{}
	for _, e := range j.lines() {
		set[e.by] = true
	}
	return set
}

func (j *journal) lines() (list []entry) {
	j.t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, "book"))
	if err != nil && !os.IsNotExist(err) {
		j.t.Fatal(err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may be half written
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			j.t.Fatalf("the book has a line %q", line)
		}
		pid, _ := strconv.Atoi(f[2])
		start, _ := strconv.ParseUint(f[3], 10, 64)
		list = append(list, entry{f[0], f[1], process{pid, start}})
	}
	return list
}

// starts counts how often each piece of work was begun, and fails the test if
// one was in two hands at once.
func (j *journal) starts(list []entry) map[string]int {
	j.t.Helper()
	n := map[string]int{}
	for _, e := range list {
		switch e.what {
		case "overlap":
			j.t.Errorf("%s was in two processes at once (the second was %d)", e.key, e.by.pid)
		case "start":
			n[e.key]++
		}
	}
	return n
}
