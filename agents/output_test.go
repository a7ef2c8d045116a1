package agents

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bellhop/scheduler"
)

func TestWarm_GarbageIsCleanedAndBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo OK; read l; printf 'a\377b\000c\n'; yes garbage | head -n 50000; echo the end of it; echo OK; read l; echo LOG fresh; echo OK; sleep 1000`))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "x"), line(2, "y"))
	c.await(scheduler.EventAnswered)
	c.await(scheduler.EventAnswered)
	if found := b.logged("a\uFFFDb\uFFFDc"); len(found) != 1 {
		t.Errorf("cleaned line is %v", found)
	}
	if n := len(b.logged("garbage")); n != 2*maxLogLines-2 { // but for the first line, and the last
		t.Errorf("%d lines are kept, want %d", n, 2*maxLogLines-2)
	}
	if n := b.logged("the end of it"); len(n) != 1 || n[0].Claim.Job != 1 {
		t.Errorf("the end is %v", n)
	}
	if n := b.logged("output truncated"); len(n) != 1 || n[0].Level != scheduler.LevelNote || n[0].Claim.Job != 1 {
		t.Errorf("the note is %v", n)
	}
	if len(b.logged("fresh")) != 1 {
		t.Error("the next attempt has no room")
	}
}

// Law: the first lines, and the last, are kept in their order, with a word in
// between on how many are not; what fits is whole.
func TestOutput_KeepsTheBeginAndTheEnd(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, maxLogLines, maxLogLines + 1, 2 * maxLogLines, 2*maxLogLines + 1, 7 * maxLogLines} {
		for _, long := range []int{0, 300} {
			var said []scheduler.Entry
			o := output{log: func(list []scheduler.Entry) { said = append(said, list...) }}
			for i := range n {
				o.keep(scheduler.Claim{Job: 1}, 1, scheduler.LevelOut, fmt.Appendf(nil, "%d %*s", i, long, "x"), false)
			}
			o.over()
			var first, last, notes, size int
			next := 0
			for _, e := range said {
				size += len(e.Text)
				if e.Level == scheduler.LevelNote {
					notes++
					continue
				}
				if _, err := fmt.Sscan(e.Text, &last); err != nil || last < next {
					t.Fatalf("%q after %d", e.Text, next)
				}
				if next == last {
					first++
				}
				next = last + 1
			}
			whole := len(said)-notes == n
			if last != n-1 || whole == (notes == 1) || notes > 1 || len(said) > 2*maxLogLines+1 || size > 2*maxLogBytes+200 {
				t.Errorf("%d lines of %d: %d kept, %d bytes, the last is %d, %d notes", n, long, len(said), size, last, notes)
			}
			if !whole && first < 1000 {
				t.Errorf("%d lines of %d: the begin has %d", n, long, first)
			}
		}
	}
}

func TestWarm_GigabyteWithoutANewlineKeepsMemoryFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: an agent writes a gigabyte")
	}
	b := setup(t, sh(t, `echo OK; read l; head -c 1000000000 /dev/zero | tr '\0' x; echo; echo OK; sleep 1000`))
	c := b.launch()
	c.await(scheduler.EventReady)
	before := ownMemory(t)
	c.feed(line(1, "x"))
	c.await(scheduler.EventAnswered)
	if grown := ownMemory(t) - before; grown > 32<<20 {
		t.Errorf("memory grew by %d MB", grown>>20)
	}
	if found := b.logged(truncateMark); len(found) != 1 || len(found[0].Text) != maxLine+len(truncateMark) {
		t.Errorf("%d lines are marked as cut", len(found))
	}
}

// ownMemory is this process's resident memory in bytes.
func ownMemory(t *testing.T) int {
	t.Helper()
	runtime.GC()
	return statusKB(t, "self", "VmRSS:") << 10
}

func statusKB(t testing.TB, pid, field string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), field)
	var kb int
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	return kb
}

func TestWarm_LongLineIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `head -c 600000 /dev/zero | tr '\0' x >&2; echo >&2; head -c 2000000 /dev/zero | tr '\0' y; echo; echo OK; sleep 1000`))
	c := b.launch()
	c.await(scheduler.EventReady)
	if told := b.told(); len(told) > maxLine+100 || !strings.HasSuffix(told, truncateMark+"\n") {
		t.Errorf("%d bytes are told", len(told))
	}
}

// The log of an MSQ job tells of each error which item it is about; that of a single job has the agent's words alone.
func TestLog_NamesTheItemOfAnError(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]Spec{
		"json": sh(t, `echo '{"bellhop":1}'; while read l; do echo '{"log":"half","level":"error"}'; echo '{"log":"info"}'; echo '{"fail":"bad picture"}'; done`),
		"exec": execSh(t, `echo half >&2; echo info; exit 1`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, spec)
			c := b.launch()
			c.await(scheduler.EventReady)
			item := line(1, "")
			item.Item = 42
			for _, l := range []scheduler.Line{item, line(2, "")} {
				c.feed(l)
				c.await(scheduler.EventAnswered)
			}
			want := []string{"item 42: half", "info", "half", "info"}
			if name == "json" {
				want = []string{"item 42: half", "info", "item 42: bad picture", "half", "info"}
			}
			var got []string
			for _, e := range b.log() {
				got = append(got, e.Text)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("the log is %q, want %q", got, want)
			}
		})
	}
}
