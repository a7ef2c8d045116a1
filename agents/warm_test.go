package agents

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/scheduler"
)

// upper answers every line and tells it on.
const upper = `echo OK
while IFS= read -r line; do echo "LOG did $line"; echo OK; done`

func TestWarm_LinesAreAnsweredOneByOneInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, upper))
	c := b.launch()
	c.await(scheduler.EventReady)
	var lines []scheduler.Line
	for i := range 200 {
		lines = append(lines, line(i+1, "n"+strconv.Itoa(i+1)))
	}
	c.Feed(lines[:50])
	c.Feed(lines[50:])
	for i := range 200 {
		ev := c.await(scheduler.EventAnswered)
		if ev.Claim != lines[i].Claim || !ev.OK || ev.ExitCode != 0 || ev.At.IsZero() {
			t.Fatalf("answer %d is %+v", i, ev)
		}
	}
	for i, e := range b.log() {
		if want := "did n" + strconv.Itoa(i+1); e.Text != want || e.Claim != lines[i].Claim || e.Attempt != 1 ||
			e.Level != scheduler.LevelInfo || e.Child != testChild || e.Host != "local" {
			t.Fatalf("entry %d is %+v, want %q", i, e, want)
		}
	}
	c.Close()
	if ev := c.await(scheduler.EventExited); ev.Told() == "" {
		t.Errorf("the exit says nothing: %+v", ev)
	}
	c.gone(time.Second)
}

func TestWarm_LowerPriorityNumberGoesFirstAmongTheUnwritten(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo OK; read go; `+strings.Replace(upper, "echo OK\n", "echo OK;", 1)))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "first"))
	c.feed(line(2, "a"), line(3, "b"))
	urgent := line(4, "urgent")
	urgent.Priority = -20
	later := line(5, "later")
	later.Priority = 5
	c.feed(later, urgent, line(6, "c"))
	var order []scheduler.JobID
	for range 6 {
		order = append(order, c.await(scheduler.EventAnswered).Claim.Job)
	}
	// The first may be written before the urgent one is fed; among the rest
	// the order is fixed once all are queued.
	pos := map[scheduler.JobID]int{}
	for i, j := range order {
		pos[j] = i
	}
	if pos[5] != 5 || !(pos[2] < pos[3] && pos[3] < pos[6]) {
		t.Errorf("order is %v", order)
	}
}

func TestWarm_RecallTakesBackWhatWasNotWritten(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo OK; read one; echo "LOG has $one"; sleep 1000`))
	c := b.launch()
	c.await(scheduler.EventReady)
	urgent := line(4, "urgent")
	urgent.Priority = -20
	c.feed(line(1, "a"), line(2, "b"), line(3, "c"))
	c.feed(urgent)
	eventually(t, patience, "the agent has a line", func() bool { return len(b.logged("has a")) == 1 })
	back := c.Recall()
	if len(back) != 3 || back[0].Job != 4 || back[1].Job != 2 || back[2].Job != 3 {
		t.Errorf("recalled %+v", back)
	}
	if len(c.Recall()) != 0 {
		t.Error("recalled twice")
	}
}

func TestWarm_NullArgumentIsAnEmptyLine(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo OK; while IFS= read -r l; do echo "LOG <$l>"; echo OK; done`))
	c := b.launch()
	c.await(scheduler.EventReady)
	l := line(1, "not to be seen")
	l.HasArgs = false
	c.feed(l)
	c.await(scheduler.EventAnswered)
	if len(b.logged("<>")) != 1 {
		t.Errorf("log is %v", b.log())
	}
}

func TestWarm_EveryWordOfTheDialect(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo starting up
printf 'OK at your service\r\n'
read -r l
echo ERROR: disk is full
echo 'LOG a note'
echo WARNING odd
echo Success; echo Success
echo ECHO hello operator
echo 'DB: SELECT 1;'
echo; echo Heartbeat; echo ItemsProcessed 3
echo OKAY then
echo complaint >&2
echo OK done
read -r l
exec sleep 1000`))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(7, "x"))
	if ev := c.await(scheduler.EventAnswered); ev.Successes != 2 || !ev.OK {
		t.Errorf("answer is %+v", ev)
	}
	want := map[string]scheduler.Level{
		"disk is full":        scheduler.LevelError,
		"a note":              scheduler.LevelInfo,
		"WARNING odd":         scheduler.LevelInfo,
		"DB: is switched off": scheduler.LevelError,
		"OKAY then":           scheduler.LevelDebug,
		"complaint":           scheduler.LevelErr,
	}
	for text, level := range want {
		found := b.logged(text)
		if len(found) != 1 || found[0].Text != text || found[0].Level != level || found[0].Claim.Job != 7 {
			t.Errorf("%q is kept as %+v, want level %s of job 7", text, found, level)
		}
	}
	if told := b.told(); told != "DEBUG work.1: starting up\nhello operator\nDEBUG work.1: OKAY then\n" {
		t.Errorf("stderr is %q", told)
	}
}

func TestWarm_StderrBelongsToTheLineInHand(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo OK; while IFS= read -r l; do echo "err of $l" >&2; echo OK; done`))
	c := b.launch()
	c.await(scheduler.EventReady)
	for i := range 300 {
		c.feed(line(i+1, strconv.Itoa(i+1)))
	}
	for range 300 {
		c.await(scheduler.EventAnswered)
	}
	for _, e := range b.log() {
		if e.Text != fmt.Sprintf("err of %d", e.Claim.Job) {
			t.Fatalf("%q is kept against job %d", e.Text, e.Claim.Job)
		}
	}
}

func TestWarm_OKWithoutALineIsLoggedAndIgnored(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `printf 'OK\nOK\n'; read -r l; printf 'OK\nOK\n'; read -r l; echo "LOG second $l"; sleep 1000`))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "a"), line(2, "b"))
	if ev := c.await(scheduler.EventAnswered); ev.Claim.Job != 1 {
		t.Errorf("answered %+v", ev)
	}
	eventually(t, patience, "the second line in hand", func() bool { return len(b.logged("second b")) == 1 })
	if !c.silent() {
		t.Error("the stray OK answered the second line")
	}
	if len(b.logged("no line outstanding")) != 2 {
		t.Errorf("log is %v", b.log())
	}
}

func TestWarm_DeathsSayWhy(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, text string
		code       int
		signal     int
		says       string
	}{
		{"before OK", `echo no licence >&2; exit 3`, 3, 0, "exit status 3: no licence"},
		{"with code 0 in a line", `echo OK; read l; echo bye >&2; exit 0`, 0, 0, "exit status 0: bye"},
		{"by a signal in a line", `echo OK; read l; kill -SEGV $$`, 139, 11, "killed by signal 11 (segmentation fault)"},
		{"without a last newline", `echo OK; read l; printf 'two\nlast words' >&2; exit 9`, 9, 0, "exit status 9: two\nlast words"},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, sh(t, tt.text)).launch()
			c.feed(line(1, "x"))
			if strings.Contains(tt.text, "echo OK") {
				c.await(scheduler.EventReady)
			}
			ev := c.await(scheduler.EventExited)
			if ev.ExitCode != tt.code || ev.Signal != tt.signal || ev.Told() != tt.says {
				t.Errorf("exit is %+v", ev)
			}
			select {
			case <-c.Done():
			default:
				t.Error("EventExited is there and Done is not closed")
			}
		})
	}
}

func TestWarm_LastWordsAreTheLastTwentyLines(t *testing.T) {
	t.Parallel()
	c := setup(t, sh(t, `for i in $(seq 1 50); do echo "w$i" >&2; done; exit 1`)).launch()
	ev := c.await(scheduler.EventExited)
	words := strings.Split(strings.TrimPrefix(ev.Told(), "exit status 1: "), "\n")
	if len(words) != 20 || words[0] != "w31" || words[19] != "w50" {
		t.Errorf("last words are %q", ev.Told())
	}
}

func TestWarm_CommandsThatCannotRunSayWhichAndWhy(t *testing.T) {
	t.Parallel()
	plain := script(t, "#!/bin/sh\n")
	if err := os.Chmod(plain, 0o644); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		spec Spec
		says string
	}{
		"missing":        {Spec{Command: []string{"/nowhere/agent"}}, "/nowhere/agent: no such file"},
		"not on PATH":    {Spec{Command: []string{"no-such-agent"}}, "no-such-agent: not found on PATH"},
		"not executable": {Spec{Command: []string{plain}}, plain + ": not executable"},
		"a directory":    {Spec{Command: []string{t.TempDir()}}, "is a directory"},
		"no interpreter": {Spec{Command: []string{script(t, "#!/nowhere/sh\n")}}, "interpreter on its first line"},
		"no #! line":     {Spec{Command: []string{script(t, "echo OK\n")}}, "#!"},
		"no workdir":     {Spec{Command: []string{"sh"}, WorkDir: "/nowhere"}, "/nowhere: no such directory"},
		"no account":     {Spec{Command: []string{"sh"}, User: "no-such-user"}, "no such account"},
		"no command":     {Spec{}, "no command"},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := setup(t, tt.spec).tryLaunch(0)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), string(testChild)) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestWarm_RelativeCommandIsLookedUpInTheWorkDir(t *testing.T) {
	t.Parallel()
	path := script(t, "#!/bin/sh\necho LOG in $(pwd)\n"+upper)
	dir := strings.TrimSuffix(path, "/agent")
	b := setup(t, Spec{Command: []string{"./agent"}, WorkDir: dir})
	b.launch().await(scheduler.EventReady)
	if len(b.logged("in "+dir)) != 1 {
		t.Errorf("log is %v", b.log())
	}
}

func TestWarm_AgentThatNeverReadsBlocksNobody(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo OK; echo LOG still talking; sleep 0.1; echo LOG and talking; exec sleep 1000`))
	c := b.launch()
	c.await(scheduler.EventReady)
	start := time.Now()
	c.feed(line(1, strings.Repeat("x", 1<<20)), line(2, "y"))
	if took := time.Since(start); took > time.Second {
		t.Errorf("Feed took %s", took)
	}
	eventually(t, patience, "its output is read all the same", func() bool { return len(b.logged("and talking")) == 1 })
	if back := c.Recall(); len(back) != 1 || back[0].Job != 2 {
		t.Errorf("recalled %d lines", len(back))
	}
	c.Close() // SIGHUP ends sleep
	if ev := c.await(scheduler.EventExited); ev.Signal != int(syscall.SIGHUP) {
		t.Errorf("exit is %+v", ev)
	}
}

func TestWarm_LongLineGoesThroughWhole(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, `echo OK; sleep 0.1; while IFS= read -r l; do echo "LOG ${#l}"; echo OK; done`))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, strings.Repeat("x", 1<<20)), line(2, "yy"))
	c.await(scheduler.EventAnswered)
	c.await(scheduler.EventAnswered)
	if len(b.logged("1048576")) != 1 || len(b.logged("2")) != 1 {
		t.Errorf("log is %v", b.log())
	}
}

func TestWarm_ClosedStdoutIsToldOfALivingAgent(t *testing.T) {
	t.Parallel()
	c := setup(t, sh(t, `echo OK; exec >&-; exec sleep 1000`)).launch()
	c.await(scheduler.EventReady)
	if ev := c.await(scheduler.EventOutputClosed); ev.Told() == "" {
		t.Errorf("event is %+v", ev)
	}
	c.Kill()
	c.await(scheduler.EventExited)
}

func TestWarm_VarsThatAreNotTakenFailTheLine(t *testing.T) {
	t.Parallel()
	spec := sh(t, upper)
	spec.Vars = []string{"USERID"}
	b := setup(t, spec)
	c := b.launch()
	c.await(scheduler.EventReady)
	good, bad := line(1, "good"), line(2, "bad")
	good.Vars, bad.Vars = `{"USERID":"7"}`, `{"USERID":"7","SHOE":"44"}`
	c.feed(bad, good)
	if ev := c.await(scheduler.EventAnswered); ev.OK || ev.Claim.Job != 2 || !strings.Contains(ev.Told(), `"SHOE"`) {
		t.Errorf("answer is %+v", ev)
	}
	if ev := c.await(scheduler.EventAnswered); !ev.OK || ev.Claim.Job != 1 {
		t.Errorf("answer is %+v", ev)
	}
	if len(b.logged("did bad")) != 0 {
		t.Error("the agent was given the line")
	}
}
