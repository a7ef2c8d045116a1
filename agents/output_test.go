package agents

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"bellhop/scheduler"
)

func TestWarm_GarbageIsCleanedAndBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo OK; read l; printf 'a\377b\000c\n'; yes garbage | head -n 50000; echo OK; read l; echo LOG fresh; echo OK; sleep 1000`))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "x"), line(2, "y"))
	c.await(scheduler.EventAnswered)
	c.await(scheduler.EventAnswered)
	if found := b.logged("a\uFFFDb\uFFFDc"); len(found) != 1 {
		t.Errorf("cleaned line is %v", found)
	}
	if n := len(b.logged("garbage")); n != maxLogLines-1 {
		t.Errorf("%d lines are kept, want %d", n, maxLogLines-1)
	}
	if n := b.logged("output truncated"); len(n) != 1 || n[0].Level != scheduler.LevelNote || n[0].Claim.Job != 1 {
		t.Errorf("the note is %v", n)
	}
	if len(b.logged("fresh")) != 1 {
		t.Error("the next attempt has no room")
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
