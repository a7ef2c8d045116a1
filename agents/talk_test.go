package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/scheduler"
)

var compiled struct {
	once sync.Once
	path string
	err  string
}

// fossologyAgent compiles the agents of testdata/fossology.c, and gives a copy
// in a folder of its own.
func fossologyAgent(t testing.TB, args ...string) Spec {
	t.Helper()
	compiled.once.Do(func() {
		cc, err := exec.LookPath("cc")
		if err != nil {
			compiled.err = "SKIPPED: no C compiler (cc) on PATH: the fossology dialect is tested against no process"
			return
		}
		dir, err := os.MkdirTemp("", "bellhop-cc-")
		if err == nil {
			compiled.path = filepath.Join(dir, "agent")
			var out []byte
			if out, err = exec.Command(cc, "-o", compiled.path, "testdata/fossology.c").CombinedOutput(); err != nil {
				t.Fatalf("compile testdata/fossology.c: %v\n%s", err, out)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if compiled.err != "" {
		t.Skip(compiled.err) // which says what is missing: a C compiler, for agents written against stdio alone
	}
	program, err := os.ReadFile(compiled.path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	return Spec{Command: append([]string{path}, args...), Dialect: DialectFOSSology, FOSSology: &FOSSology{},
		Env: map[string]string{"HEARD": path + ".heard"}}
}

func (b *bench) heard(spec Spec) string {
	b.t.Helper()
	text, err := os.ReadFile(spec.Env["HEARD"])
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// serve launches a child of spec and has it do one line.
func serve(t *testing.T, spec Spec, l scheduler.Line) (*bench, *child) {
	t.Helper()
	b := setup(t, spec)
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(l)
	return b, c
}

func TestFOSSology_IsStartedAsTodaysSchedulerDoes(t *testing.T) {
	t.Parallel()
	spec := fossologyAgent(t, "argv", "two words")
	spec.FOSSology.Config = "/etc/fo"
	spec.Vars = []string{"COLOUR"}
	l := line(7, "7")
	l.Vars = `{"jobId":"12","userID":"3","groupID":"4","jq_cmd_args":"-a -b","COLOUR":"blue"}`
	there, _ := afar(t, spec)
	for where, b := range map[string]*bench{"here": setup(t, spec), "on another host": there} {
		c := b.launch()
		c.await(scheduler.EventReady)
		c.feed(l)
		if ev := c.await(scheduler.EventAnswered); !ev.OK {
			t.Fatalf("%s: answer is %+v", where, ev)
		}
		folder := filepath.Dir(spec.Command[0])
		for i, want := range []string{folder + "/work", "argv", "two words", "--jobId=12", "--config=/etc/fo", "--userID=3", "--groupID=4", "--scheduler_start", "-a", "-b"} {
			if len(b.logged("argv["+string(rune('0'+i))+"]="+want)) != 1 {
				t.Errorf("%s: argv[%d] is not %q: %v", where, i, want, b.log())
			}
		}
		if len(b.logged("cwd="+folder)) != 1 || len(b.logged("leader=1")) != 1 || len(b.logged("argv[10]")) != 0 {
			t.Errorf("%s: log is %v", where, b.log())
		}
		odd := l
		odd.Vars = `{"SHOE":"44"}`
		c.feed(odd)
		if ev := c.await(scheduler.EventAnswered); ev.OK || !strings.Contains(ev.Told(), `"SHOE"`) {
			t.Errorf("%s: a var that it does not take: %+v", where, ev)
		}
	}
}

func TestFOSSology_EveryByteThatIsSent(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		agent   string
		line    scheduler.Line
		verbose int
		heard   string
	}{
		{"five", line(1, "7"), 0, "7\nEND\nCLOSE\n"},
		{"five", scheduler.Line{Claim: scheduler.Claim{Job: 1}}, 0, "CLOSE\n"},
		{"five", line(1, "7"), 3, "VERBOSE 3\n7\nEND\nCLOSE\n"},
		{"special", line(1, "7"), 0, "7\nEND\nVALUE: 0\nCLOSE\n"}, // VALUE: 1 went to the agent's own scanf
		{"no2ndok", line(1, "7"), 0, "7\nEND\n"},
	} {
		spec := fossologyAgent(t, x.agent)
		spec.FOSSology.Verbose = x.verbose
		b, c := serve(t, spec, x.line)
		if ev := c.await(scheduler.EventAnswered); !ev.OK || ev.ExitCode != 0 || ev.Told() != "" {
			t.Errorf("%s: answer is %+v, log %v", x.agent, ev, b.log())
		}
		got := b.heard(spec)
		if x.agent == "special" { // the second VALUE may come before or after the data
			got = strings.Replace(got, "VALUE: 0\n7\nEND\n", "7\nEND\nVALUE: 0\n", 1)
			if len(b.logged("the value is 1")) != 1 {
				t.Errorf("log is %v", b.log())
			}
		}
		if got != x.heard {
			t.Errorf("%s: it heard %q, want %q", x.agent, got, x.heard)
		}
	}
}

func TestFOSSology_EachLineHasAProcessOfItsOwnAndHeartsAreProgress(t *testing.T) {
	t.Parallel()
	spec := fossologyAgent(t, "five")
	b := setup(t, spec)
	var mu sync.Mutex
	var told []scheduler.Progress
	b.launcher.progress = func(p scheduler.Progress) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, p)
	}
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "7"), line(2, "8"), line(3, "END"))
	for i := range 2 {
		if ev := c.await(scheduler.EventAnswered); !ev.OK || ev.Claim.Job != scheduler.JobID(i+1) {
			t.Errorf("answer is %+v", ev)
		}
	}
	if ev := c.await(scheduler.EventAnswered); ev.OK || ev.ExitCode != refusedCode || !strings.HasPrefix(ev.Told(), "not_data: the data begins with END") {
		t.Errorf("answer is %+v", ev)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 2 || told[0].Job != 1 || told[0].Done != 5 || told[1].Job != 2 || told[1].Done != 5 {
		t.Errorf("progress is %+v", told)
	}
	c.Close()
	c.await(scheduler.EventExited)
}

func TestFOSSology_EndsThatAreFailures(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]struct {
		kind   scheduler.EventKind
		code   int
		signal int
		says   string
	}{
		"bye7":      {scheduler.EventAnswered, 7, 0, "the agent said BYE 7: FATAL main.c.7: cannot go on"},
		"noversion": {scheduler.EventAnswered, refusedCode, 0, `invalid_agent: its first line is not VERSION: "OK"`},
		"nobye":     {scheduler.EventExited, 0, 0, "it left without BYE: exit status 0: cannot read the file"},
		"dies":      {scheduler.EventExited, 139, 11, "it left without BYE: killed by signal 11 (segmentation fault)"},
		"silent":    {scheduler.EventExited, 137, 9, "no_heartbeat: not a line for 200ms"},
		"mute":      {scheduler.EventExited, 137, 9, "no OK within 100ms"},
		"lifeless":  {scheduler.EventExited, 137, 9, "no_heartbeat: it said ALIVE 0 for 2 looks, 30ms apart"},
		"deaf":      {scheduler.EventExited, 137, 9, "no_heartbeat: not a line for 200ms"},
	} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			spec := fossologyAgent(t, agent)
			spec.FOSSology.Silence, spec.FOSSology.Check, spec.FOSSology.Checks = time.Hour, time.Hour, 1
			switch agent {
			case "silent", "deaf":
				spec.FOSSology.Silence = 200 * time.Millisecond
			case "mute":
				spec.StartTimeout = 100 * time.Millisecond
			case "lifeless":
				spec.FOSSology.Check, spec.FOSSology.Checks = 30*time.Millisecond, 2
			}
			b, c := serve(t, spec, line(1, "7"))
			ev := c.await(want.kind)
			if ev.OK || ev.ExitCode != want.code || ev.Signal != want.signal || ev.Told() != want.says ||
				ev.Stop != scheduler.StopNone {
				t.Errorf("end is %+v, want %+v; log %v", ev, want, b.log())
			}
		})
	}
}

func TestFOSSology_NoKillIsObeyed(t *testing.T) {
	t.Parallel()
	spec := fossologyAgent(t, "nokill")
	// it says nothing that would count, and is spared
	spec.FOSSology.Check, spec.FOSSology.Checks, spec.FOSSology.Silence = 10*time.Millisecond, 1, time.Hour
	b, c := serve(t, spec, line(1, "7"))
	if ev := c.await(scheduler.EventAnswered); !ev.OK {
		t.Errorf("answer is %+v, log %v", ev, b.log())
	}
}

func TestFOSSology_WhoStaysAfterByeIsKilledAndHasSucceeded(t *testing.T) {
	t.Parallel()
	spec := fossologyAgent(t, "stays")
	spec.FOSSology.ByeGrace = 50 * time.Millisecond
	_, c := serve(t, spec, line(1, "7"))
	if ev := c.await(scheduler.EventAnswered); !ev.OK || ev.ExitCode != 0 {
		t.Errorf("answer is %+v", ev)
	}
}

func TestFOSSology_ClosedStdinEndsItProperly(t *testing.T) {
	t.Parallel()
	_, c := serve(t, fossologyAgent(t, "waits"), line(1, "7"))
	eventually(t, patience, "the agent runs", func() bool { return c.Pid() != 0 })
	eventually(t, patience, "the agent is past its start", func() bool {
		s, err := os.ReadFile("/proc/" + strconv.Itoa(c.Pid()) + "/status")
		return err == nil && strings.Contains(string(s), "SigIgn:\t0000000000000001")
	})
	c.Close()
	// It was told to go: what it says then is no word about its data.
	if ev := c.await(scheduler.EventExited); ev.ExitCode != 0 || ev.Signal != 0 || ev.Told() != "the agent said BYE 0" {
		t.Errorf("end is %+v", ev)
	}
}

func TestFOSSology_AnOrderToDieIsNoAnswer(t *testing.T) {
	t.Parallel()
	_, c := serve(t, fossologyAgent(t, "silent"), line(1, "7"))
	eventually(t, patience, "the agent runs", func() bool { return c.Pid() != 0 })
	c.Kill()
	c.await(scheduler.EventExited)
}

func TestFOSSology_EmailAndLog(t *testing.T) {
	t.Parallel()
	for _, no := range []bool{false, true} {
		spec := fossologyAgent(t, "email")
		spec.FOSSology.NoEmail = no
		b, c := serve(t, spec, line(4, "7"))
		c.await(scheduler.EventAnswered)
		e := b.logged("EMAIL done, and well")
		if no != (len(e) == 0) || !no && (e[0].Level != scheduler.LevelNote || e[0].Claim.Job != 4) {
			t.Errorf("noemail %v: kept %+v", no, e)
		}
		if e := b.logged("NOTICE main.c.1: \uFFFD odd"); len(e) != 1 || e[0].Level != scheduler.LevelInfo {
			t.Errorf("log is %v", b.log())
		}
	}
}

// A warning printed once before VERSION must not take a type out for ever.
func TestFOSSology_ABadStartIsToldAndAGoodOneHealsIt(t *testing.T) {
	t.Parallel()
	for agent, says := range map[string]string{
		"warning": `invalid_agent: its first line is not VERSION: "WARNING: locale not found"`,
	} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			flag := filepath.Join(t.TempDir(), "flag")
			spec := fossologyAgent(t, agent, flag)
			b := setup(t, spec)
			var mu sync.Mutex
			var told []string
			b.launcher.versions.trouble = func(typ scheduler.TypeName, host scheduler.HostName, why scheduler.Account) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, string(typ)+" "+string(host)+": "+why.Told())
			}
			c := b.launch()
			c.await(scheduler.EventReady)
			run := func(bad bool) scheduler.ChildEvent {
				if bad {
					if err := os.WriteFile(flag, nil, 0o644); err != nil {
						t.Fatal(err)
					}
				} else {
					os.Remove(flag)
				}
				c.feed(line(1, "7"))
				return c.await(scheduler.EventAnswered)
			}
			if ev := run(false); !ev.OK {
				t.Fatalf("answer is %+v", ev)
			}
			if ev := run(true); ev.OK || ev.Told() != says {
				t.Errorf("answer is %+v", ev)
			}
			if ev := run(false); !ev.OK {
				t.Errorf("answer is %+v", ev)
			}
			mu.Lock()
			defer mu.Unlock()
			if want := "work local: " + says + "|work local: "; strings.Join(told, "|") != want {
				t.Errorf("told %q, want %q", told, want)
			}
		})
	}
}

// What a type calls itself, over hosts and time.
func TestVersions_ANewProgramIsFollowed(t *testing.T) {
	t.Parallel()
	var told []string
	v := versions{trouble: func(typ scheduler.TypeName, host scheduler.HostName, why scheduler.Account) {
		told = append(told, string(host)+": "+why.Reason)
	}}
	now := time.Unix(1000, 0)
	start := func(host scheduler.HostName, text, want string) {
		t.Helper()
		now = now.Add(time.Minute)
		why := v.compare("nomos", host, text, now)
		switch {
		case why.Reason != "":
			v.invalid("nomos", host, scheduler.Account{Reason: "invalid_agent: other"})
		default:
			v.confirm("nomos", host, text, now)
		}
		if why.Message != want {
			t.Errorf("%s says %s: %q, want %q", host, text, why, want)
		}
	}
	if why := v.compare("nomos", "a", "broken", now); why.Reason != "" { // and never comes to an OK
		t.Errorf("the first is refused: %s", why)
	}
	start("a", "1", "")
	start("b", "2", "it says VERSION: 2, and the last one, on a, said VERSION: 1") // who is right is not known
	start("b", "1", "")
	start("a", "2", "") // a has a new program
	start("b", "1", "it says VERSION: 1, and the last one, on a, said VERSION: 2")
	start("b", "2", "")
	start("a", "1", "") // and goes back
	now = now.Add(staleVersion)
	start("c", "3", "") // a and b are gone
	if got, want := strings.Join(told, "|"), "b: invalid_agent: other|b: |b: invalid_agent: other|b: "; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// After an upgrade of an agent its jobs go on; a line that came to a process of
// another version than the others' comes back, as if it had not been given.
func TestFOSSology_AnUpgradeIsFollowedAndWhoIsBehindGivesItsLineBack(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "flag")
	b := setup(t, fossologyAgent(t, "version", flag))
	c := b.launch()
	c.await(scheduler.EventReady)
	for n, upgraded := range []bool{false, true, true} {
		if upgraded {
			if err := os.WriteFile(flag, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c.feed(line(n+1, "7"))
		if ev := c.await(scheduler.EventAnswered); !ev.OK {
			t.Fatalf("upgraded %v: answer is %+v", upgraded, ev)
		}
	}
	b.launcher.versions.confirm("work", "elsewhere", "4.6.0", time.Now())
	c.feed(line(4, "7"))
	if ev := c.await(scheduler.EventExited); ev.Error != "invalid_agent: its VERSION is not that of the last one, on elsewhere" ||
		!strings.HasPrefix(ev.Message, "it says VERSION: 4.5.0,") {
		t.Errorf("its end is %+v", ev)
	}
	if back := c.Recall(); len(back) != 1 || back[0].Job != 4 {
		t.Errorf("given back: %+v", back)
	}
}
