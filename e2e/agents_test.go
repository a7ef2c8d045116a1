package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// TestAgent_ThatDoesNotComeUp: jobs stay ready and say why; the type fails
// after as many deaths as are allowed; whoever mends the agent need do nothing
// else.
func TestAgent_ThatDoesNotComeUp(t *testing.T) {
	t.Parallel()
	good := "#!/bin/sh\necho OK; while read -r line; do echo OK; done\n"
	for name, c := range map[string]struct {
		spoil func(e *env, path string)
		says  string
	}{
		"missing": {func(e *env, path string) { remove(e.t, path) }, "no such file"},
		"not executable": {func(e *env, path string) {
			if err := os.Chmod(path, 0o644); err != nil {
				e.t.Fatal(err)
			}
		}, "chmod +x"},
		"no program":            {func(e *env, _ string) { e.file("agent", "\x00\x01 what?", 0o755) }, "not a program"},
		"no interpreter":        {func(e *env, _ string) { e.file("agent", "#!/no/such/thing\n", 0o755) }, "interpreter"},
		"dies before OK":        {func(e *env, _ string) { e.file("agent", "#!/bin/sh\necho no toner >&2; exit 7\n", 0o755) }, "exit status 7"},
		"is silent at start":    {func(e *env, _ string) { e.file("agent", "#!/bin/sh\nexec sleep 1000\n", 0o755) }, "no OK within 2s"},
		"closes stdout at once": {func(e *env, _ string) { e.file("agent", "#!/bin/sh\nexec sleep 1000 >&-\n", 0o755) }, "closed its stdout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			path := e.file("agent", good, 0o755)
			c.spoil(e, path)
			limits := "limits: {deaths: 3, window: 20s, kill_after: 1s, start_timeout: 2s}\n"
			if c.says != "no OK within 2s" {
				limits = "limits: {deaths: 3, window: 20s, kill_after: 1s}\n"
			}
			i := e.serve(limits + agents("type: bad, command: ["+path+"]", "type: good, command: ["+e.worker("good", "")+"]"))
			jobs := []int64{e.insert("type", "bad"), e.insert("type", "bad")}
			e.eventually("the type fails", "select exists (select from bellhop.child where type = 'bad' and state = 'FAIL')")
			for _, id := range jobs {
				pgtest.Eventually(t, patience, "the jobs wait as if they had not been tried, and say why", func() bool {
					j := e.job(id)
					return j.State == "ready" && j.Attempt == 0 && strings.HasPrefix(j.WaitingFor, "agent_fails: ") &&
						strings.Contains(j.WaitingFor, c.says)
				})
			}
			e.eventually("the agent's row says so too", "select coalesce(strpos(trouble->>'local', $1) > 0, false) from bellhop.agent where type = 'bad'", c.says)
			e.healthy("good")
			i.waitSaid("type fails")

			remove(t, path)
			e.file("agent", good, 0o755)
			for _, id := range jobs {
				if j := e.waitState(id, "succeeded"); j.Attempt != 1 || j.WaitingFor != "" || j.Error != "" {
					t.Errorf("once it was mended: %+v", j)
				}
			}
			e.eventually("the trouble is over", "select trouble = '{}' from bellhop.agent where type = 'bad'")
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// TestAgent_FiveDeathsAndNoMore: with pauses in between, and then none.
func TestAgent_FiveDeathsAndNoMore(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("limits: {window: 30s}\n" + agents("type: bad, command: ["+e.script("agent", "date +%s.%N >>$DIR/starts; exit 1")+"]"))
	id := e.insert("type", "bad")
	e.eventually("the type fails", "select exists (select from bellhop.child where type = 'bad' and state = 'FAIL')")
	starts := e.lines("starts")
	if len(starts) != 5 {
		t.Fatalf("%d deaths", len(starts))
	}
	for n := 2; n < 5; n++ { // at least 1 s from the second respawn on
		pause := seconds(t, starts[n]) - seconds(t, starts[n-1])
		if least := float64(int(1) << (n - 2)); pause < least {
			t.Errorf("%.2f s before start %d, want at least %v", pause, n+1, least)
		}
	}
	e.sql("select bellhop.kick()")
	e.insert("type", "bad")
	pgtest.Eventually(t, patience, "the job waits as if it had not been tried", func() bool {
		j := e.job(id)
		return j.State == "ready" && j.Attempt == 0
	})
	if again := e.lines("starts"); len(again) != 5 {
		t.Errorf("%d starts in the end", len(again))
	}
}

func seconds(t *testing.T, text string) (s float64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAgent_DiesInATask: the attempt fails with the last words; an exit with 0
// between line and OK is a death too; one that dies three times at a job's
// hands is enough.
func TestAgent_DiesInATask(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.worker("agent", `echo "$line" >>$DIR/ran
case $line in
die*) echo "first words" >&2; echo "last words of $line" >&2; exit 9;;
leave) exit 0;;
crash) kill -SEGV $$;;
esac`)
	e.serve(agents("type: a, command: [" + agent + "]"))
	die, leave := e.insert("type, args", "a", "die"), e.insert("type, args", "a", "leave")
	crash := e.insert("type, args", "a", "crash")
	if j := e.waitState(die, "failed"); j.ExitCode != 9 || j.Attempt != 1 ||
		!strings.Contains(j.Error, "last words of die") {
		t.Errorf("exit 9: %+v", j)
	}
	if j := e.waitState(leave, "failed"); !strings.Contains(j.Error, "exit status 0") {
		t.Errorf("exit 0: %+v", j)
	}
	if j := e.waitState(crash, "failed"); j.ExitCode != 139 || !strings.Contains(j.Error, "signal 11") {
		t.Errorf("SIGSEGV: %+v", j)
	}
	e.healthy("a")
	thrice := e.insert("type, args, max_attempts", "a", "die thrice", 10)
	if j := e.waitState(thrice, "quarantined"); j.Attempt != 3 || !strings.Contains(j.Error, "last words of die thrice") {
		t.Errorf("three deaths: %+v", j)
	}
	if n := value[int](e, "select count(*) from bellhop.attempt where job = $1 and exit_code = 9 and error like '%last words%'", thrice); n != 3 {
		t.Errorf("%d attempts are kept", n)
	}
	e.healthy("a")
	e.ok("retry", fmt.Sprint(thrice))
	e.waitState(thrice, "scheduled")
	e.ok("cancel", fmt.Sprint(thrice))
	e.waitState(thrice, "cancelled")
}

// TestAgent_Misbehaves: each agent does something else wrong with the line
// "bad". What becomes of that job is in the table; what becomes of the next one
// is the same for all: it runs.
func TestAgent_Misbehaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  string
		state string
		says  string
	}{
		"never answers":            {"sleep 1000", "failed", "timeout: not done within 5s"},
		"answers something else":   {"echo FINE; sleep 1000", "failed", "timeout"},
		"closes stdout and lives":  {"exec >&-; sleep 1000", "failed", "closed its stdout"},
		"closes stdin and lives":   {"exec <&-; sleep 1000", "failed", "timeout"},
		"is deaf to signals":       {"trap '' HUP TERM INT; sleep 1000; sleep 1000", "failed", "timeout"},
		"stops itself":             {"kill -STOP $$", "failed", "timeout"},
		"writes garbage":           {`printf '\001\377\300garbage\r\n OK\nNOT OK\nOKAY\n\n\t\nOK: no\nERROR\nLOG\n'; for n in {1..300}; do printf "\\$(printf %o $((n%256)))x"; done; echo`, "succeeded", ""},
		"writes NUL":               {`printf 'LOG a\000b\377c \303\244\n'; printf 'x\000OK\n'`, "succeeded", ""},
		"floods without newline":   {"head -c 100000000 /dev/zero | tr '\\0' x; echo", "succeeded", ""},
		"floods stderr":            {"head -c 20000000 /dev/zero | tr '\\0' x >&2; head -c 3000000 /dev/zero | tr '\\0' '\\n' >&2", "succeeded", ""},
		"leaves a daemon":          {"setsid sleep 1000 & exit 1", "failed", "exit status 1"},
		"leaves one with its pipe": {"(trap '' HUP TERM; exec setsid sleep 1000) & sleep 0.1; kill -9 $$", "failed", "signal 9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			agent := e.worker("agent", `echo "$line" >>$DIR/ran; [ "$line" = bad ] && { `+c.body+"\n}")
			i := e.serve("hosts:\n  - {name: local, slots: 1}\n" + agents("type: a, command: ["+agent+"]"))
			bad := e.insert("type, args, timeout", "a", "bad", patientOnlyFor(c.says))
			next := e.insert("type, args", "a", "next")
			j := e.waitState(bad, c.state)
			if !strings.Contains(j.Error, c.says) || j.Attempt != 1 {
				t.Errorf("it is %+v", j)
			}
			e.waitState(next, "succeeded")
			e.healthy("a")
			if got := e.lines("ran"); !slices.Equal(got, []string{"bad", "next", "good"}) {
				t.Errorf("ran %q", got)
			}
			if n := len(i.processes()); n != 1 {
				t.Errorf("%d processes, want one agent", n)
			}
			if kept := value[int](e, "select coalesce(sum(length(line)), 0) from bellhop.log"); kept > 3<<20 {
				t.Errorf("%d bytes are kept of what it said", kept)
			}
			if kb := i.memory(); kb > 150<<10 && !raceEnabled {
				t.Errorf("the scheduler has %d kB", kb)
			}
			if name == "writes NUL" {
				has(t, e.logged(bad), "info: a\uFFFDb\uFFFDc ä")
			}
		})
	}
}

// patientOnlyFor gives the jobs a timeout that are to run into it.
func patientOnlyFor(says string) time.Duration {
	if strings.HasPrefix(says, "timeout") {
		return 5 * time.Second
	}
	return patience
}

// memory is the most that the process ever had resident, in kB.
func (i *instance) memory() (kb int) {
	i.b.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", i.cmd.Process.Pid))
	if err != nil {
		i.b.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return number(i.b.t, strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		}
	}
	i.b.t.Fatal("no VmHWM")
	return 0
}

// TestAgent_NeverReads: what does not fit into the pipe holds up nobody else.
func TestAgent_NeverReads(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.script("agent", `echo OK; [ -e $DIR/well ] || sleep 1000; while read -r line; do echo ${#line} >>$DIR/lengths; echo OK; done`)
	e.serve(agents("type: deaf, command: ["+agent+"]", "type: good, command: ["+e.worker("good", note)+"]"))
	long := strings.Repeat("x", 1<<20)
	id := e.insert("type, args, timeout", "deaf", long, 10*time.Second)
	e.waitState(id, "running")
	e.healthy("good")
	if j := e.waitState(id, "failed"); !strings.HasPrefix(j.Error, "timeout") {
		t.Errorf("it is %+v", j)
	}
	e.file("well", "", 0o644)
	e.waitState(e.insert("type, args", "deaf", long), "succeeded")
	if got := e.lines("lengths"); !slices.Equal(got, []string{fmt.Sprint(len(long))}) {
		t.Errorf("it read lines of %v bytes", got)
	}
}

// TestAgent_GrandchildrenDieWithTheJob: those that called setsid too.
func TestAgent_GrandchildrenDieWithTheJob(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve(agents("type: a, mode: exec, command: [" + e.script("agent", "setsid sleep 1000 & sleep 1000 & (setsid setsid sleep 1000 &); echo started") + "]"))
	id := e.insert("type", "a")
	e.waitState(id, "succeeded")
	if left := i.processes(); len(left) != 0 {
		t.Errorf("after the job %d processes live", len(left))
	}
	has(t, e.logged(id), "out: started")
}

// TestScheduler_KilledMinusNineLeavesNothing: not even what has called setsid.
func TestScheduler_KilledMinusNineLeavesNothing(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.worker("agent", "setsid sleep 1000 & (setsid sleep 1000; :) & trap '' HUP TERM; sleep 1000")
	best := time.Hour
	for range 10 {
		i := e.serve(agents("type: a, command: [" + agent + "]"))
		ids := []int64{e.insert("type", "a"), e.insert("type", "a"), e.insert("type", "a")}
		for _, id := range ids {
			e.waitState(id, "running")
		}
		pgtest.Eventually(t, patience, "the agents have made their children",
			func() bool { return len(i.processes()) >= 3*5 })
		i.kill()
		best = min(best, i.gone())
		e.sql("delete from bellhop.jobqueue")
		if best <= time.Second {
			break
		}
	}
	t.Logf("all dead within %v at best", best)
	if best > time.Second { // the best of ten, since somebody else may need the machine too
		t.Errorf("what agents started lived for %v", best)
	}
}

// TestAgent_ForgedOKs: an OK that answers nothing counts for nothing, least of
// all for the next job.
func TestAgent_ForgedOKs(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.worker("agent", `echo "$line" >>$DIR/ran
case $line in
forge) cat $DIR/forged; continue;;
die) sleep 0.2; exit 1;;
esac`)
	e.serve("hosts:\n  - {name: local, slots: 1}\n" + agents("type: a, command: ["+agent+"]"))
	e.file("forged", "OK\nOK\nOK\n", 0o644) // said in one breath, as bash's own printf would not
	e.healthy("a")
	forge, die := e.insert("type, args", "a", "forge"), e.insert("type, args", "a", "die")
	e.waitState(forge, "succeeded")
	e.waitState(die, "failed")
	e.healthy("a")
	if got := e.lines("ran"); !slices.Equal(got, []string{"good", "forge", "die", "good"}) {
		t.Errorf("ran %q", got)
	}
	e.eventually("it is noted",
		"select exists (select from bellhop.log where line like 'an OK with no line outstanding%')")
}

func TestAgent_JSON(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.script("agent", `echo '{"bellhop":1,"type":"a"}'
while IFS= read -r line; do
echo "$line" >>$DIR/ran
id=$(sed 's/^{"id":\([0-9]*\),.*/\1/' <<<"$line"); fence=$(sed 's/.*"fence":\([0-9]*\),.*/\1/' <<<"$line")
case $line in
*'"args":"fail"'*) echo '{"id":'$id',"fence":'$fence',"fail":"out of \"paper\"","exit_code":3}';;
*'"args":"other"'*) echo '{"id":'$((id+1000))',"ok":true}'; sleep 1000;;
*'"args":"stale"'*) echo '{"id":'$id',"fence":0,"ok":true}'; sleep 1000;;
*'"args":"talk"'*) echo '{"log":"half way","level":"error"}'; echo '{"progress":{"done":5}}'; echo 'what?'; echo '{"result":[1,2],"id":'$id',"ok":true}';;
*) echo '{"id":'$id',"fence":'$fence',"ok":true}';;
esac
done`)
	e.serve(agents("type: a, command: ["+agent+"]", `type: b, dialect: json, command: [`+agent+"]"))
	full := e.insert("type, args, key, vars, traceparent", "a", `tab	and "quotes"`, "k", "{}", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	e.waitState(full, "succeeded")
	has(t, e.lines("ran")[0], fmt.Sprintf(`{"id":%d,"attempt":1,"fence":1,"args":"tab\tand \"quotes\""`, full),
		`"key":"k"`, `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`)
	if j := e.waitState(e.insert("type, args", "a", "fail"), "failed"); j.ExitCode != 3 || j.Error != `out of "paper"` {
		t.Errorf("fail: %+v", j)
	}
	for _, args := range []string{"other", "stale"} {
		if j := e.waitState(e.insert("type, args", "a", args), "failed"); !strings.Contains(j.Error, "another job") {
			t.Errorf("%s: %+v", args, j)
		}
	}
	talk := e.insert("type, args", "a", "talk")
	e.waitState(talk, "succeeded")
	has(t, e.logged(talk), "error: half way", `info: progress {"done":5}`, "debug: what?")
	if got := value[string](e, "select result::text from bellhop.jobqueue where id = $1", talk); got != "[1, 2]" {
		t.Errorf("it gave back %s", got)
	}
	wrong := e.insert("type", "b") // the agent says that it is of type a
	pgtest.Eventually(t, patience, "the wrong type is noticed", func() bool { return e.job(wrong).WaitingFor != "" })
	e.healthy("a")
}

// TestAgent_NeverSaysOK: a program that does not speak bellhop's lines. It holds
// one slot and not all of them, and after the first try it is told, with what to
// write in its place.
func TestAgent_NeverSaysOK(t *testing.T) {
	t.Parallel()
	e := setup(t)
	mute := e.script("mute", "while read -r pid; do kill -0 $pid 2>/dev/null && echo $pid and $$ >>$DIR/two; done <$DIR/pids; echo $$ >>$DIR/pids; exec cat")
	e.file("pids", "", 0o666)
	e.serve("limits: {start_timeout: 700ms, kill_after: 1s, deaths: 1000}\nhosts:\n  - {name: local, slots: 4}\n" +
		agents("type: invoice, command: ["+mute+"]", "type: sh, command: [sh, -c], mode: exec"))
	e.sql("insert into bellhop.jobqueue (type, args) select 'invoice', '42' from generate_series(1, 9)")
	job := value[int64](e, "select max(id) from bellhop.jobqueue")
	e.eventually("it is told", "select exists (select from bellhop.agent where trouble ->> 'local' like 'none has come up since % (% tr%): no OK within 700ms; %mode: exec')")
	e.eventually("the job says it too", "select coalesce(waiting_for, '') like 'agent_fails: local: none has come up since %' from bellhop.jobqueue where id = $1", job)
	has(t, e.ok("explain", fmt.Sprint(job)), "agent_fails", "none has come up since", "mode: exec")
	e.waitState(e.insert("type, args", "sh", "echo hello"), "succeeded") // there is room beside it
	pgtest.Eventually(t, patience, "it is tried again", func() bool { return len(e.lines("pids")) >= 4 })
	if two := e.lines("two"); len(two) > 0 {
		t.Errorf("two at once: %v", two)
	}
}

// TestAgent_NeverSaysOKAndIsLeftAlone: such starts are failures in a row,
// however far they are apart: FAIL comes though each takes longer than the
// window in which deaths are counted.
func TestAgent_NeverSaysOKAndIsLeftAlone(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve("limits: {start_timeout: 300ms, kill_after: 1s, deaths: 3, window: 50ms}\n" + agents("type: invoice, command: [cat]"))
	e.insert("type", "invoice")
	pgtest.Eventually(t, patience, "it is not started again", func() bool { return strings.Contains(i.said(), "type fails: not started again for a while") })
}
