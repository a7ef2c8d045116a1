package torture

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"bellhop/cmd/bellhop/internal/cli"
)

// Witness is the word under which this program is an agent that writes down what it does, beside the database.
const Witness = "torture-agent"

// journalVariable names the folder of the journal in a witness's environment.
const journalVariable = "BELLHOP_TORTURE"

// WitnessCommand is the agent of a torture: warm in the dialect json, or one process per job.
func WitnessCommand(*cli.App) *cobra.Command {
	return &cobra.Command{
		Use: Witness, Hidden: true, Args: cobra.MaximumNArgs(1),
		Short: "The agent of bellhop torture",
		RunE: func(c *cobra.Command, args []string) error {
			w, err := openWitness(os.Getenv(journalVariable))
			if err != nil {
				return err
			}
			if url := os.Getenv(workerVariable); url != "" {
				lease, err := time.ParseDuration(os.Getenv(leaseVariable))
				if err != nil {
					return err
				}
				return w.takes(c.Context(), url, lease)
			}
			if url := os.Getenv(insideVariable); url != "" {
				return w.inside(c.Context(), url)
			}
			if os.Getenv("BELLHOP_JOB_ID") != "" {
				return w.once(strings.Join(args, " "))
			}
			return w.serve()
		},
	}
}

// witness is an agent's end of a journal. Locks of the kernel die with the process and not before it, so two owners at
// once, and two holders of one lock, are seen at that very moment.
type witness struct {
	book, tokens, names *os.File
	me                  string
	lines               *bufio.Scanner // from the scheduler
}

func openWitness(dir string) (*witness, error) {
	var w witness
	var errs [3]error
	w.book, errs[0] = os.OpenFile(filepath.Join(dir, "book"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	w.tokens, errs[1] = os.OpenFile(filepath.Join(dir, "tokens"), os.O_CREATE|os.O_RDWR, 0o666)
	w.names, errs[2] = os.OpenFile(filepath.Join(dir, "names"), os.O_CREATE|os.O_RDWR, 0o666)
	w.me = fmt.Sprintf("%d %s", os.Getpid(), startTicks(os.Getpid()))
	return &w, errors.Join(errs[:]...)
}

// claim is what a line to an agent says about a run.
type claim struct {
	ID, Fence int64
	Attempt   int
	Args      string
	Item      map[string]string
	Steps     map[string]json.RawMessage
}

// once does the job of a process that has one.
func (w *witness) once(args string) error {
	c := claim{Args: args}
	c.ID, _ = strconv.ParseInt(os.Getenv("BELLHOP_JOB_ID"), 10, 64)
	c.Fence, _ = strconv.ParseInt(os.Getenv("BELLHOP_FENCE"), 10, 64)
	c.Attempt, _ = strconv.Atoi(os.Getenv("BELLHOP_ATTEMPT"))
	if !w.do(c) {
		return cli.Silent(3)
	}
	return nil
}

// serve does one line after the other.
func (w *witness) serve() error {
	fmt.Println(`{"bellhop":1}`)
	w.lines = bufio.NewScanner(os.Stdin)
	w.lines.Buffer(nil, 1<<20)
	for w.lines.Scan() {
		var c claim
		if err := json.Unmarshal(w.lines.Bytes(), &c); err != nil {
			return fmt.Errorf("read a line of the scheduler: %w", err)
		}
		switch ok, rests := w.does(c); {
		case rests: // it has said so
		case ok:
			fmt.Println(`{"ok":true}`)
		default:
			fmt.Println(`{"fail":"as planned","exit_code":3}`)
		}
	}
	return w.lines.Err()
}

// task is what the arguments of a job, or an item, ask for.
type task struct {
	token int64         // what is done, whichever row stands for it
	takes time.Duration // the work
	fails int           // the last attempt that fails; 0: none
	lock  int           // a lock's number; −1: none
	write bool          // it is exclusive

	steps, children int // how many it saves, and makes
	sleep           time.Duration
	event           string // which it awaits
}

// parseTask reads words such as "n=17 ms=20 fails=1 lock=2:x".
func parseTask(words string) task {
	t := task{lock: -1}
	for word := range strings.FieldsSeq(words) {
		name, value, _ := strings.Cut(word, "=")
		number, how, _ := strings.Cut(strings.Trim(value, `"`), ":")
		n, _ := strconv.ParseInt(number, 10, 64)
		switch name {
		case "n":
			t.token = n
		case "ms":
			t.takes = time.Duration(n) * time.Millisecond
		case "fails":
			t.fails = int(n)
		case "lock":
			t.lock, t.write = int(n), how == "x"
		case "steps":
			t.steps = int(n)
		case "children":
			t.children = int(n)
		case "sleep":
			t.sleep = time.Duration(n) * time.Millisecond
		case "await":
			t.event = value
		}
	}
	return t
}

// do does one task, and reports whether it is to succeed.
func (w *witness) do(c claim) bool {
	ok, _ := w.does(c)
	return ok
}

// does does one task, or a part of it: rests says that the job goes on later.
func (w *witness) does(c claim) (ok, rests bool) {
	words := c.Args
	for name, value := range c.Item {
		words += " " + name + "=" + value
	}
	t := parseTask(words)
	what := begun
	if !seize(w.tokens, t.token, true) {
		what = overlapped
	}
	w.write(what, t, c)
	if t.lock >= 0 && !seize(w.names, int64(t.lock), t.write) {
		w.write(clashed, t, c)
	}
	time.Sleep(t.takes) // this is the work
	rest, rests := w.through(t, c)
	fails := c.Attempt <= t.fails
	switch {
	case rests:
		w.write(rested, t, c)
	case fails:
		w.write(failed, t, c)
	default:
		w.write(done, t, c)
	}
	if t.lock >= 0 {
		release(w.names, int64(t.lock))
	}
	release(w.tokens, t.token)
	if rest != "" { // not before: the next attempt may begin as soon as this is said
		fmt.Println(rest)
	}
	return !fails, rests
}

func (w *witness) write(what string, t task, c claim) {
	at, wall := bothClocks(monotonic, func() int64 { return time.Now().UnixNano() })
	fmt.Fprintf(w.book, "%s %d %d %d %d %s %d %d\n", what, t.token, c.ID, c.Fence, c.Attempt, w.me, at, wall)
}

// seize takes a lock of the kernel on one byte; false: another process has it.
func seize(f *os.File, at int64, write bool) bool {
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Start: at, Len: 1}
	if write {
		lock.Type = syscall.F_WRLCK
	}
	return syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock) == nil
}

func release(f *os.File, at int64) {
	lock := syscall.Flock_t{Type: syscall.F_UNLCK, Start: at, Len: 1}
	_ = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock) // a lock of another process stays
}

// bothClocks reads two clocks at one moment, in nanoseconds. On a busy machine a process is put aside between two
// readings: they are read again until the steady clock hardly moved meanwhile. Of many such tries the best counts.
func bothClocks(steady, wall func() int64) (at, then int64) {
	const near, tries = int64(time.Millisecond), 50
	best := int64(math.MaxInt64)
	for range tries {
		before := steady()
		read := wall()
		if took := steady() - before; took < best {
			best, at, then = took, before, read
		}
		if best <= near {
			break
		}
	}
	return at, then
}

// monotonic is the machine's clock that no setting of the time moves, in nanoseconds.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it is always there
	return t.Nano()
}

// What a line of a journal says.
const (
	begun      = "begin"
	done       = "end"
	failed     = "fail"
	overlapped = "overlap" // begun while another process did the same
	clashed    = "clash"   // its lock was held by another process
	rested     = "rest"    // the job goes on later
	stepping   = "step"    // a step of a job is done
	kept       = "kept"    // and its output is committed
)

// entry is one line of a journal.
type entry struct {
	what    string
	token   int64
	job     int64
	fence   int64
	attempt int
	pid     int
	ticks   string // when the process started: a pid alone identifies nothing
	at      int64  // monotonic, in nanoseconds
	wall    int64  // the same moment by the clock that PostgreSQL reads, since 1970
}

// readJournal gives the lines in the order in which they were written.
func readJournal(dir string) ([]entry, error) {
	text, err := os.ReadFile(filepath.Join(dir, "book"))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	var all []entry
	for line := range strings.Lines(string(text[:bytes.LastIndexByte(text, '\n')+1])) {
		var e entry
		if _, err := fmt.Sscanf(line, "%s %d %d %d %d %d %s %d %d\n", &e.what, &e.token, &e.job, &e.fence, &e.attempt,
			&e.pid, &e.ticks, &e.at, &e.wall); err != nil {
			return nil, fmt.Errorf("the journal has a line %q: %w", line, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// living lists the processes of a journal that are there now.
func living(journal []entry) map[int]string {
	found := map[int]string{}
	for _, e := range journal {
		if found[e.pid] == "" && startTicks(e.pid) == e.ticks {
			found[e.pid] = e.ticks
		}
	}
	return found
}

// startTicks is when a process started, in the kernel's ticks; empty: there is none of that pid, or a dead one.
func startTicks(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}
