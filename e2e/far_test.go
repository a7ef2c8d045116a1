package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
	"bellhop/pgdev/wire"
)

// hostRow is a host as `bellhop hosts -o json` shows it.
type hostRow struct {
	Name    string
	State   string
	Trouble string
}

func (e *env) hosts() map[string]hostRow {
	e.t.Helper()
	var list []hostRow
	if err := json.Unmarshal([]byte(e.ok("hosts", "-o", "json")), &list); err != nil {
		e.t.Fatal(err)
	}
	hosts := map[string]hostRow{}
	for _, h := range list {
		hosts[h.Name] = h
	}
	return hosts
}

// waitHost waits until a host is in that state and its trouble begins like this.
func (e *env) waitHost(name, state, trouble string) {
	e.t.Helper()
	var h hostRow
	defer func() {
		if e.t.Failed() {
			e.t.Logf("host %s: %+v", name, h)
		}
	}()
	pgtest.Eventually(e.t, patience, fmt.Sprintf("host %s is %s (%s)", name, state, trouble), func() bool {
		h = e.hosts()[name]
		return h.State == state && strings.HasPrefix(h.Trouble, trouble)
	})
}

// ranOn is where a job's last attempt ran.
func (e *env) ranOn(id int64) string {
	e.t.Helper()
	return value[string](e, "select coalesce(host, '') from bellhop.jobqueue where id = $1", id)
}

func TestSSH_JobsGoThereAndComeBack(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	echo := e.worker("echo", `echo "LOG got $line in $TMPDIR"; [ "$line" != fail ] || exit 9`)
	i := e.serve("hosts:\n" + s.host("far", "slots: 2") + agents(
		"type: warm, command: ["+echo+", \"a  b\", \"it's $HOME\"]",
		"type: sh, command: [sh, -c], mode: exec, env: {GREETING: \"hello  'you'\"}"))
	warm := e.insert("type, args, run_on", "warm", "x  'y' $HOME", "far")
	e.waitState(warm, "succeeded")
	if e.ranOn(warm) != "far" {
		t.Errorf("it ran on %q", e.ranOn(warm))
	}
	has(t, e.logged(warm), "got x  'y' $HOME in "+s.dir+"/tmp")
	// Arguments come through two shells as they are.
	for _, args := range []string{`printf '<%s>' "a  b" '*' '$HOME' '!' '\'`, `echo "$GREETING"`, "exit 3", "kill -9 $$", "env | sort"} {
		id := e.insert("type, args", "sh", args)
		pgtest.Eventually(t, patience, "it is over", func() bool { return final(e.state(id)) })
		log := e.logged(id)
		switch j := e.job(id); args {
		case "exit 3":
			if j.ExitCode != 3 || j.State != "failed" {
				t.Errorf("%s: %+v", args, j)
			}
		case "kill -9 $$":
			if j.ExitCode != 137 {
				t.Errorf("%s: %+v", args, j)
			}
		case "env | sort":
			for _, line := range strings.Split(log, "\n") {
				name, _, _ := strings.Cut(strings.TrimPrefix(line, "out: "), "=")
				if !strings.Contains(" PATH HOME LANG TMPDIR GREETING PWD OLDPWD SHLVL _ ", " "+name+" ") &&
					!strings.HasPrefix(name, "BELLHOP_") &&
					name != "TRACEPARENT" {
					t.Errorf("the agent finds %q", line)
				}
			}
		case `echo "$GREETING"`:
			has(t, log, "hello  'you'")
		default:
			has(t, log, `<a  b><*><$HOME><!><\>`)
		}
	}
	failed := e.insert("type, args", "warm", "fail")
	if j := e.waitState(failed, "failed"); j.ExitCode != 9 || j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
	e.waitHost("far", "up", "")
	if kept, err := filepath.Glob(filepath.Join(s.dir, "cache/bellhop/*")); err != nil || len(kept) != 1 {
		t.Errorf("the host keeps %v, %v", kept, err)
	}
	i.stop()
	s.empty()
}

// A guard that is not whole is not used, and neither is a folder of somebody else's.
func TestSSH_TheGuardIsPutWhereItCanRun(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	cache := filepath.Join(s.dir, "cache", "bellhop")
	if err := os.Symlink("/", cache); err != nil { // not a folder of its own
		t.Fatal(err)
	}
	i := e.serve("hosts:\n" + s.host("far", "slots: 1") + agents("type: sh, command: [sh, -c], mode: exec"))
	e.waitState(e.insert("type, args", "sh", "true"), "succeeded")
	kept, err := filepath.Glob(filepath.Join(s.dir, "tmp/bellhop-*/bh-guard-*"))
	if err != nil || len(kept) != 1 {
		t.Errorf("the host keeps %v, %v", kept, err)
	}
	i.stop()
	s.empty()
}

func TestSSH_ManyItemsOverAChoppedLine(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), setup(t)
	p := s.proxy()
	p.Set(wire.Fault{Chop: 64})
	echo := e.worker("echo", `echo "$line" >>$DIR/done`)
	e.serve("hosts:\n" + s.host("proxied", "slots: 2") + agents("type: warm, command: ["+echo+"]"))
	id := e.insert("type, msq", "warm", "select g as n, repeat('x', 1000) as pad from generate_series(1, 300) g")
	if j := e.waitState(id, "succeeded"); j.Done != 300 || j.Failed != 0 {
		t.Errorf("%+v", j)
	}
	seen := map[string]bool{}
	for _, line := range e.lines("done") {
		if !strings.HasSuffix(line, ` pad="`+strings.Repeat("x", 1000)+`"`) {
			t.Fatalf("a line came as %q", line)
		}
		seen[line] = true
	}
	if len(seen) != 300 {
		t.Errorf("%d different items", len(seen))
	}
}

// Any other command that carries stdio is put in front as it is.
func TestConnect_AnyPrefix(t *testing.T) {
	t.Parallel()
	e := setup(t)
	prefix := e.script("enter", `echo "$#:$1:$2" >>$DIR/called; shift 2; BOX=inside exec "$@"`)
	i := e.serve(fmt.Sprintf("hosts:\n  - {name: box, slots: 1, connect: [%s, \"a  b\", --]}\n", prefix) +
		agents("type: sh, command: [sh, -c], mode: exec"))
	id := e.insert("type, args", "sh", `echo "$BOX"; exit 4`)
	if j := e.waitState(id, "failed"); j.ExitCode != 4 {
		t.Errorf("%+v", j)
	}
	has(t, e.logged(id), "out: inside")
	for _, line := range e.lines("called") {
		if !strings.HasSuffix(line, ":a  b:--") {
			t.Errorf("called with %q", line)
		}
	}
	i.stop()
}

// A host that cannot run our program says so, and runs nothing until it has a
// guard of its own.
func TestConnect_AnotherArchitectureNeedsItsOwnGuard(t *testing.T) {
	t.Parallel()
	e := setup(t)
	tools := filepath.Join(e.dir, "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	e.script("tools/uname", `[ "$1" = -s ] && echo Linux || echo m68k`)
	e.serve(fmt.Sprintf("hosts:\n  - {name: amiga, slots: 1, connect: [env, \"PATH=%s:/usr/bin:/bin\", HOME=%s, XDG_CACHE_HOME=]}\n", tools, e.dir) +
		agents("type: sh, command: [sh, -c], mode: exec"))
	id := e.insert("type, args", "sh", "exit 5")
	e.waitHost("amiga", "down", "no_guard: the host is another kind of machine than this one")
	e.eventually("the job says so", "select coalesce(waiting_for, '') like 'host_down: amiga: no_guard: %' from bellhop.jobqueue where id = $1", id)
	if err := link(binary, filepath.Join(tools, "bh-guard")); err != nil {
		t.Fatal(err)
	}
	if j := e.waitState(id, "failed"); j.ExitCode != 5 || j.Attempt != 1 {
		t.Errorf("%+v", j)
	}
	e.waitHost("amiga", "up", "")
}

// With -H nothing is reached: every host is this machine.
func TestServe_HereReplacesEveryHost(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve("hosts:\n  - {name: far, slots: 1, connect: [ssh, nowhere.invalid]}\n"+agents("type: sh, command: [sh, -c], mode: exec"), "-H")
	id := e.insert("type, args, run_on", "sh", "true", "far")
	e.waitState(id, "succeeded")
	has(t, i.said(), "every host is this machine")
}

func TestConfigCheck_SpawnsEachAgentOnEachHost(t *testing.T) {
	t.Parallel()
	s, e := openSSHD(t), on(t, "")
	good, bad := e.worker("good", ":"), e.script("bad", "echo cannot >&2; exit 3")
	path := e.file(
		"bellhop.yaml",
		"limits: {start_timeout: 1m}\nhosts:\n  - {name: local, slots: 1}\n"+s.host("far", "slots: 1")+
			"  - {name: gone, slots: 1, connect: [ssh, -p, \"1\", 127.0.0.1]}\n"+
			agents("type: good, command: ["+good+"]", "type: bad, command: ["+bad+"]",
				"type: missing, command: [/nowhere/x], mode: exec", "type: runs, command: [sh], mode: exec",
				"type: count, dialect: fossology, command: ["+e.foss("count", ":")+"]",
				"type: mute, dialect: fossology, command: ["+e.script("mute", "echo no library; exit 1")+"]",
				"type: leaves, dialect: fossology, command: ["+e.script("leaves",
					"echo VERSION: 1; echo OK; read line; exit 0")+"]"),
		0o600,
	)
	r := e.run("config", "check", "--spawn", "-c", path, "-o", "json")
	var got struct {
		OK       bool
		Verdicts []struct {
			Host, Type, Said string
			OK               bool
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != 2 || got.OK {
		t.Fatalf("%v, code %d: %s%s", err, r.code, r.stdout, r.stderr)
	}
	verdicts := map[string]string{}
	for _, v := range got.Verdicts {
		verdicts[v.Host+"/"+v.Type] = fmt.Sprint(v.OK, ": ", v.Said)
	}
	for name, want := range map[string]string{
		"local/good": "true: said OK after", "far/good": "true: said OK after",
		"local/bad": "false: it ended without an OK: exit status 3: cannot", "far/bad": "false: it ended without an OK: exit status 3: cannot",
		"local/missing": "false: /nowhere/x: no such file", "far/missing": "false: /nowhere/x: no such file on host far",
		"local/runs": "true: found", "far/runs": "true: found", "local/count": "true: said VERSION, OK and BYE 0 after", "far/count": "true: said VERSION, OK and BYE 0 after",
		"local/mute": `false: invalid_agent: its first line is not VERSION: "no library"`, "far/mute": "false: invalid_agent: ",
		"local/leaves": "false: it left without BYE: exit status 0", "far/leaves": "false: it left without BYE: ", "gone/": "false: refused: ",
	} {
		if !strings.HasPrefix(verdicts[name], want) {
			t.Errorf("%s: %q, want %q", name, verdicts[name], want)
		}
	}
	s.empty()
	e.file("bellhop.yaml", "hosts:\n"+s.host("far", "slots: 1")+agents("type: good, command: ["+good+"]"), 0o600)
	if r := e.run("config", "check", "--spawn", "-c", path); r.code != 0 {
		t.Errorf("code %d: %s%s", r.code, r.stdout, r.stderr)
	}
}

// What a clock says over there is nobody's business.
func TestSSH_TheClockThereIsAnHourOff(t *testing.T) {
	t.Parallel()
	lib := fakeTime(t)
	s, e := openSSHD(t, "LD_PRELOAD="+lib, "FAKETIME=+1h"), setup(t)
	e.serve("hosts:\n" + s.host("far",
		"slots: 1") + agents("type: sh, command: [sh, -c], mode: exec, env: {LD_PRELOAD: "+lib+", FAKETIME: +1h}"))
	id := e.insert("type, args", "sh", `date +%s; sleep 9; date +%s`)
	j := e.waitState(id, "succeeded")
	var there int64
	if _, err := fmt.Sscanf(e.logged(id), "out: %d", &there); err != nil || there-time.Now().Unix() < 3000 {
		t.Errorf("its clock is not an hour off: %q, %v", e.logged(id), err)
	}
	took := value[float64](e, "select extract(epoch from ended_at - started_at)::float8 from bellhop.jobqueue where id = $1", id)
	if j.Attempt != 1 || took < 1 || took > 600 {
		t.Errorf("it took %.1f s, %+v", took, j)
	}
}

// fakeTime finds the library that makes programs see another time.
func fakeTime(t *testing.T) string {
	t.Helper()
	for _, pattern := range []string{"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib*/faketime/libfaketime.so.1"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 { // the pattern is a good one
			return found[0]
		}
	}
	t.Skip("SKIPPED: no libfaketime here, so a host whose clock is off is not tested; install faketime")
	return ""
}
