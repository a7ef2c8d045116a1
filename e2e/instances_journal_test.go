package e2e

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
)

// A journal is what the agents of a test say they did, whatever the scheduler
// and the database believe: a file to which each of them appends a line when
// it begins a job and one when it has finished it. While it has the job it
// holds a lock of the kernel on it, which dies with the process and not
// before: a job in two processes at the same time is seen in the very moment.
type journal struct {
	t   *testing.T
	dir string
}

// entry is one line of a journal.
type entry struct {
	what    string // "start", "end" or "overlap"
	job     int64
	fence   int64
	attempt int
	pid     int
	ticks   string // when the process started: a pid alone identifies nothing
	at      time.Time
}

func newJournal(t *testing.T) *journal { return &journal{t, t.TempDir()} }

// The test binary is the agent, too: its environment says so. The argument of
// a job says how long it takes ("10ms", or "hold": until the test lets go; "early":
// until it lets go of these) and
// how it ends if not well: "10ms fail", "10ms die".
const agentVariable = "BELLHOP_E2E_JOURNAL"

// agent is an agent for a configuration that keeps this journal. mode is "exec"
// or "warm" (the json dialect).
func (j *journal) agent(typ, mode string) string {
	self, err := os.Executable()
	if err != nil {
		j.t.Fatal(err)
	}
	return fmt.Sprintf("type: %s, command: [%q], mode: %s, env: {%s: %q}", typ, self, mode, agentVariable, j.dir)
}

// letGo ends all that is held, and all that is still to come.
func (j *journal) letGo() {
	if err := os.WriteFile(filepath.Join(j.dir, "go"), nil, 0o644); err != nil {
		j.t.Error(err)
	}
}

// letGoEarly ends what was to be held until this.
func (j *journal) letGoEarly() {
	if err := os.WriteFile(filepath.Join(j.dir, "go.early"), nil, 0o644); err != nil {
		j.t.Error(err)
	}
}

func init() {
	if dir := os.Getenv(agentVariable); dir != "" {
		syscall.Exit(beAgent(dir)) // os.Exit would wait a second under the race detector
	}
}

func beAgent(dir string) int {
	w, err := openWork(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 70
	}
	if id := os.Getenv("BELLHOP_JOB_ID"); id != "" {
		e := entry{}
		e.job, _ = strconv.ParseInt(id, 10, 64)
		e.fence, _ = strconv.ParseInt(os.Getenv("BELLHOP_FENCE"), 10, 64)
		e.attempt, _ = strconv.Atoi(os.Getenv("BELLHOP_ATTEMPT"))
		if !w.do(e, os.Args[len(os.Args)-1]) {
			return 3
		}
		return 0
	}
	fmt.Println(`{"bellhop":1}`)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var line struct {
			ID, Fence int64
			Attempt   int
			Args      string
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 70
		}
		if w.do(entry{job: line.ID, fence: line.Fence, attempt: line.Attempt}, line.Args) {
			fmt.Println(`{"ok":true}`)
		} else {
			fmt.Println(`{"fail":"as it was told","exit_code":3}`)
		}
	}
	return 0
}

// work is an agent's end of a journal.
type work struct {
	book, locks *os.File
	release     string // a file: what is held ends when it is there
	me          string
}

func openWork(dir string) (*work, error) {
	book, err := os.OpenFile(filepath.Join(dir, "book"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	locks, err := os.OpenFile(filepath.Join(dir, "locks"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	return &work{book, locks, filepath.Join(dir, "go"), fmt.Sprintf("%d %s", os.Getpid(), startTicks(os.Getpid()))}, nil
}

// do does one job and reports whether it is to succeed.
func (w *work) do(e entry, args string) bool {
	span, ending, _ := strings.Cut(args, " ")
	what := "start"
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: e.job, Len: 1}
	if err := syscall.FcntlFlock(w.locks.Fd(), syscall.F_SETLK, &lock); err != nil {
		what = "overlap"
	}
	w.write(what, e)
	w.spend(span)
	if ending == "die" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	if ending != "fail" {
		w.write("end", e)
	}
	lock.Type = syscall.F_UNLCK
	_ = syscall.FcntlFlock(w.locks.Fd(), syscall.F_SETLK, &lock) // not ours: no harm
	return ending != "fail"
}

// spend is the work itself.
func (w *work) spend(span string) {
	if d, err := time.ParseDuration(span); err == nil {
		time.Sleep(d)
		return
	}
	release := w.release
	if span == "early" {
		release += ".early"
	}
	for {
		if _, err := os.Stat(release); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (w *work) write(what string, e entry) {
	fmt.Fprintf(w.book, "%s %d %d %d %s %d\n", what, e.job, e.fence, e.attempt, w.me, time.Now().UnixMilli())
}

// entries reads what has been written so far.
func (j *journal) entries() []entry {
	j.t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, "book"))
	if err != nil && !os.IsNotExist(err) {
		j.t.Fatal(err)
	}
	var all []entry
	text = text[:bytes.LastIndexByte(text, '\n')+1] // a line that crosses a page can be seen half
	for line := range strings.Lines(string(text)) {
		var e entry
		var ms int64
		if _, err := fmt.Sscanf(line, "%s %d %d %d %d %s %d\n", &e.what, &e.job, &e.fence, &e.attempt, &e.pid, &e.ticks,
			&ms); err != nil {
			j.t.Fatalf("the journal has a line %q: %v", line, err)
		}
		e.at = time.UnixMilli(ms)
		all = append(all, e)
	}
	return all
}

// starts counts how often each job was begun.
func (j *journal) starts() map[int64]int {
	n := map[int64]int{}
	for _, e := range j.entries() {
		if e.what != "end" {
			n[e.job]++
		}
	}
	return n
}

// once fails the test when a job was begun more than once.
func (j *journal) once() {
	j.t.Helper()
	for id, n := range j.starts() {
		if n != 1 {
			j.t.Errorf("job %d was begun %d times", id, n)
		}
	}
}

// alive lists the agents that live, by pid, with what tells them from others
// that get the same pid later.
func (j *journal) alive() map[int]string {
	found := map[int]string{}
	for _, e := range j.entries() {
		if startTicks(e.pid) == e.ticks {
			found[e.pid] = e.ticks
		}
	}
	return found
}

// startTicks is when a process started, in the kernel's ticks; empty when
// there is none of that pid, or only what is left of a dead one.
func startTicks(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// livingAmong lists those of the agents that still live.
func livingAmong(agents map[int]string) (pids []int) {
	for pid, ticks := range agents {
		if startTicks(pid) == ticks {
			pids = append(pids, pid)
		}
	}
	return pids
}

// check fails the test when a job was in two processes at the same time, was
// begun under a fence that is not above the last one, or as an attempt beyond
// the most that it may have.
func (j *journal) check(attempts int) {
	j.t.Helper()
	fences := map[int64]int64{}
	wrong := 0
	complain := func(format string, args ...any) {
		j.t.Helper()
		if wrong++; wrong <= 10 {
			j.t.Errorf(format, args...)
			j.tell(args[0].(int64))
		}
	}
	for _, e := range j.entries() {
		switch {
		case e.what == "overlap":
			complain("job %d was begun (fence %d, pid %d) while it was in another process", e.job, e.fence, e.pid)
		case e.what != "start":
			continue
		}
		if last, again := fences[e.job]; again && e.fence <= last {
			complain("job %d was begun under fence %d after fence %d", e.job, e.fence, last)
		}
		fences[e.job] = e.fence
		if e.attempt < 1 || e.attempt > attempts {
			complain("job %d was begun as attempt %d of %d", e.job, e.attempt, attempts)
		}
	}
	if wrong > 10 {
		j.t.Errorf("and %d more", wrong-10)
	}
}

// tell logs the story of one job.
func (j *journal) tell(job int64) {
	j.t.Helper()
	for _, e := range j.entries() {
		if e.job == job {
			j.t.Logf("%s %s job %d, fence %d, attempt %d, by pid %d", e.at.UTC().Format("15:04:05.000"), e.what, e.job, e.fence,
				e.attempt, e.pid)
		}
	}
}

// proves fails the test when a job is recorded as succeeded that no agent
// finished under the fence that the row names, or that was begun again later.
func (j *journal) proves(e *env) {
	j.t.Helper()
	ended, last := map[string]bool{}, map[string]string{}
	for _, e := range j.entries() {
		job, claim := strconv.FormatInt(e.job, 10), fmt.Sprint(e.job, " ", e.fence)
		if e.what == "end" {
			ended[claim] = true
		} else {
			last[job] = claim
		}
	}
	for _, claim := range column[string](e, "select id || ' ' || fence from bellhop.jobqueue where state = 'succeeded'") {
		job, _, _ := strings.Cut(claim, " ")
		if !ended[claim] {
			j.t.Errorf("job and fence %s are recorded as succeeded, and no agent finished them", claim)
		} else if last[job] != claim {
			j.t.Errorf("job and fence %s are recorded as succeeded, and an agent began %s after them", claim, last[job])
		}
	}
}
